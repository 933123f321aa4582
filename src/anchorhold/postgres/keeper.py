"""The small process that is PostgreSQL's parent; it ends PostgreSQL when nobody uses it.

Run as a program, never imported: `python -I -S keeper.py SERVER_LOCK USERS_LOCK SOCKETS COMMAND…`
with two open file descriptors and the socket folder. It imports little, so it costs about 10 MB.

Why a process: the users of a server may all die by SIGKILL, and then somebody must end it. The
kernel drops a dead user's shared lock on `users.lock`; when the keeper gets that lock exclusively
nobody is left. PostgreSQL inherits `server.lock`, so the lock is free only when it is gone; and it
gets SIGINT from the kernel (a clean and fast stop) when the keeper itself is killed.
"""

import ctypes
import fcntl
import os
import select
import signal
import sys
import time

POLL_S = 0.25
# A second without users: commands that follow one another share one server.
POLLS_UNTIL_STOP = 4
FAST_STOP_S = 60.0
PR_SET_PDEATHSIG = 1
STOP_REQUESTS = {signal.SIGTERM, signal.SIGINT}


def main(server_lock: int, users_lock: int, sockets: str, command: list[str]) -> None:
    """PostgreSQL has run and has ended, and its socket folder is gone."""
    if os.fork():
        os._exit(0)  # The starter reaps this one; the child belongs to init.
    fcntl.fcntl(users_lock, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    fcntl.fcntl(server_lock, fcntl.F_SETFD, 0)
    signals = signal_numbers()
    postmaster = launch(command)
    if serve(postmaster, users_lock, signals):
        stop(postmaster)
    remove(sockets)


def signal_numbers() -> int:
    """A descriptor from which the number of each signal that arrives can be read."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOP_REQUESTS):
        signal.signal(number, lambda _number, _frame: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reader


def launch(command: list[str]) -> int:
    """The command runs as a child that gets SIGINT when this process dies; its process id."""
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT))
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        # The keeper may have died before the line above.
        if os.getppid() == keeper:
            os.execv(command[0], command)  # noqa: S606 -- no shell is wanted
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def serve(postmaster: int, users_lock: int, signals: int) -> bool:
    """False: it ended by itself. True: it is to end; nobody uses it, or a signal asked for it.

    When nobody uses it the exclusive lock stays held, so nobody can begin to.
    """
    polls_alone = 0
    while os.waitpid(postmaster, os.WNOHANG) == (0, 0):
        polls_alone = polls_alone + 1 if alone(users_lock) else 0
        if polls_alone == POLLS_UNTIL_STOP:
            return True
        fcntl.flock(users_lock, fcntl.LOCK_UN)
        if select.select([signals], [], [], POLL_S)[0] and STOP_REQUESTS & {*os.read(signals, 64)}:
            return True
    return False


def alone(users_lock: int) -> bool:
    """No living process holds the users' lock; the keeper holds it now."""
    try:
        fcntl.flock(users_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def stop(postmaster: int) -> None:
    """The postmaster has ended: fast with a checkpoint, or at once if that takes too long."""
    os.kill(postmaster, signal.SIGINT)
    deadline = time.monotonic() + FAST_STOP_S
    while os.waitpid(postmaster, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(postmaster, signal.SIGQUIT)
            os.waitpid(postmaster, 0)
            return
        time.sleep(0.01)


def remove(sockets: str) -> None:
    """The socket folder is gone, if it is empty."""
    try:
        os.rmdir(sockets)  # noqa: PTH106 -- pathlib would double the keeper's start
    except OSError:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
