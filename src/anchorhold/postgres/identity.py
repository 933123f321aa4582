"""Which user PostgreSQL runs as. It refuses to run as root.

An ordinary user runs it as himself. Root runs it as the owner of the data folder. Where that is
root too, in a user namespace in which root has an ordinary user's number: the files stay root's and
no folder's mode changes. Where a container forbids namespaces, as an existing ordinary user who is
given the data folder; if he cannot pass the folders above it, with the right to read past them.
No user is made, and nothing outside the data folder changes.
"""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anchorhold.postgres.errors import USE_ANOTHER_SERVER, PostgresCode, PostgresError
from anchorhold.postgres.folder import Folder

# The first that exists; none is made.
ORDINARY_USERS = ("postgres", "nobody", "daemon")
# From no right to the strongest; a container may have only the last.
RIGHTS = ("", "dac_read_search", "dac_override")
PROBE = "import os,sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], [sys.argv[2], '-V'])"


@dataclass(frozen=True, slots=True)
class Identity:
    """The words before a command that make it run as the right user, and whose files it makes."""

    prefix: tuple[str, ...]
    uid: int
    gid: int


def identity_for(folder: Folder, program: Path) -> Identity:
    """The user who can run the program on the folder, which is his now.

    Raises PostgresError (NO_ORDINARY_USER).
    """
    if os.geteuid() != 0:
        return Identity((), os.geteuid(), os.getegid())
    owner = (folder.cluster if folder.cluster.exists() else folder.root).stat()
    for identity in candidates(owner.st_uid, owner.st_gid):
        give(folder.root, identity.uid, identity.gid)
        if works(identity, folder, program):
            return identity
    give(folder.root, owner.st_uid, owner.st_gid)
    raise PostgresError(
        PostgresCode.NO_ORDINARY_USER,
        "PostgreSQL does not run as root, and neither a user namespace nor setpriv works here.",
        f"Run Anchorhold as an ordinary user, {USE_ANOTHER_SERVER}.",
    )


def candidates(owner_uid: int, owner_gid: int) -> Iterator[Identity]:
    """What root can try, best first."""
    if owner_uid != 0:
        yield from with_setpriv(owner_uid, owner_gid)
        return
    user = ordinary_user()
    if user is None:
        return
    if unshare := shutil.which("unshare"):
        names = (f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}")
        yield Identity((unshare, "--user", *names, "--"), 0, 0)
    yield from with_setpriv(user.pw_uid, user.pw_gid)


def with_setpriv(uid: int, gid: int) -> Iterator[Identity]:
    """That user, with as few rights as possible first."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return
    user = (setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
    for right in RIGHTS:
        only = f"-all,+{right}" if right else "-all"
        yield Identity((*user, f"--inh-caps={only}", f"--ambient-caps={only}", "--"), uid, gid)


def ordinary_user() -> pwd.struct_passwd | None:
    """An existing user who is not root."""
    for name in ORDINARY_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def give(root: Path, uid: int, gid: int) -> None:
    """Everything in the data folder belongs to that user."""
    if root.stat().st_uid == uid:
        return
    for parent, folders, files in os.walk(root):
        for name in folders + files:
            os.chown(Path(parent, name), uid, gid, follow_symlinks=False)
    # Last: whoever is killed before this line does it all again.
    os.chown(root, uid, gid)


def works(identity: Identity, folder: Folder, program: Path) -> bool:
    """Whether that user reaches this Python, the program and the data folder."""
    python = (sys.executable, "-I", "-S", "-c", PROBE, str(folder.root), str(program))
    probe = subprocess.run(  # noqa: S603 -- our own words and paths
        [*identity.prefix, *python], capture_output=True, check=False
    )
    return probe.returncode == 0
