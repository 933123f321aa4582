"""The house rules as functions over one source file; `test_tidy.py` runs them over all.

Each rule yields (line, what is wrong). They look at the syntax tree, so that a word in a docstring
or a name that only resembles another is not taken for the thing itself.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

Finding = tuple[int, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef

OURS = "anchorhold"
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60


@dataclass(frozen=True)
class Source:
    """One Python file below `src/anchorhold`; `path` is relative to that folder."""

    path: PurePosixPath
    text: str

    @classmethod
    def read(cls, path: Path, root: Path) -> "Source":
        """The file as it is on the disk."""
        return cls(PurePosixPath(path.relative_to(root)), path.read_text("utf-8"))

    @property
    def room(self) -> str:
        """The first folder of the path, or the file's name at the top."""
        return self.path.parts[0]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the syntax tree."""
        return tuple(ast.walk(ast.parse(self.text)))

    @cached_property
    def imports(self) -> tuple[tuple[int, str, str], ...]:
        """What is imported: line, local name, full dotted name."""
        return tuple(_imports(self.nodes, self.path))

    @cached_property
    def dotted(self) -> tuple[tuple[int, str], ...]:
        """Every use of an imported name, spelled in full whatever alias it goes by."""
        names = {local: full for _, local, full in self.imports}
        return tuple(
            (node.lineno, full)
            for node in self.nodes
            if isinstance(node, ast.Attribute | ast.Name) and (full := _spelled(node, names))
        )

    @cached_property
    def strings(self) -> tuple[tuple[int, str], ...]:
        """Every string literal that is not a docstring; of an f-string, each literal part."""
        prose = {
            id(node.value)
            for node in self.nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        return tuple(
            (node.lineno, node.value)
            for node in self.nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
        )

    @cached_property
    def comments(self) -> tuple[Finding, ...]:
        """Every comment."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return tuple((t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT)


def _imports(nodes: tuple[ast.AST, ...], path: PurePosixPath) -> Iterator[tuple[int, str, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                root = name.name.partition(".")[0]
                yield node.lineno, name.asname or root, name.name if name.asname else root
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, path)
            for name in node.names:
                yield node.lineno, name.asname or name.name, f"{module}.{name.name}"


def _absolute(node: ast.ImportFrom, path: PurePosixPath) -> str:
    if not node.level:
        return node.module or ""
    package = [OURS, *path.parent.parts]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _spelled(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (base := _spelled(node.value, names)):
        return f"{base}.{node.attr}"
    return None


def short_files(source: Source) -> Iterator[Finding]:
    """A file has at most 400 lines."""
    count = len(source.text.splitlines())
    if count > LINES_OF_A_FILE:
        yield count, f"{count} lines; split it at {LINES_OF_A_FILE}"


def short_functions(source: Source) -> Iterator[Finding]:
    """A function has at most 60 lines, its docstring included."""
    for node in source.nodes:
        if isinstance(node, Function):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > LINES_OF_A_FUNCTION:
                yield node.lineno, f"{node.name} has {count} lines; {LINES_OF_A_FUNCTION} at most"


PLAIN_LOOP = PurePosixPath("demo/naive.py")
"""What is usually written instead of us: it has to use the library as others do."""


def stripe_in_its_room(source: Source) -> Iterator[Finding]:
    """Only `stripe/` imports the Stripe library."""
    if source.room != "stripe" and source.path != PLAIN_LOOP:
        for line, _, full in source.imports:
            if full.partition(".")[0] == "stripe":
                yield line, "import of the Stripe library; go through the Provider"


SQL = re.compile(
    r"\s*(SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|WITH|MERGE\s+INTO|TRUNCATE|LOCK\s+TABLE)\s"
)
SQL_ROOMS = {"store", "postgres", "demo", "bench"}


def sql_in_its_room(source: Source) -> Iterator[Finding]:
    """SQL stands in `store/`.

    `postgres/`, which knows nobody, asks whether the server is up; the demo's auditor takes no
    word of the store; the bench fills its own ground.
    """
    if source.room not in SQL_ROOMS:
        for line, text in source.strings:
            if SQL.match(text):
                yield line, f"SQL ({text.split()[0]} …); make it a function of the store"


CLOCKS = {
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
    "datetime.date.today", "time.time", "time.time_ns", "time.localtime", "time.gmtime",
    "uuid.uuid1", "uuid.uuid4", "os.urandom", "os.getrandom",
}  # fmt: skip
DICE = {"random", "secrets"}
OWN_CLOCKS = {"entropy.py", "twin", "sim", "demo"}


def clock_and_dice(source: Source) -> Iterator[Finding]:
    """Wall clock and random are read in `entropy.py`, and where a world of its own is made."""
    if source.room in OWN_CLOCKS:
        return
    for line, full in source.dotted:
        if full in CLOCKS:
            yield line, f"{full}; ask the database's clock, or anchorhold.entropy"
    for line, _, full in source.imports:
        if full.partition(".")[0] in DICE:
            yield line, f"import of {full}; ask anchorhold.entropy"


MONEY_ROOMS = {"domain", "store"}


def whole_money(source: Source) -> Iterator[Finding]:
    """Nothing becomes a float where money is counted."""
    if source.room in MONEY_ROOMS:
        for node in source.nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "float"
            ):
                yield node.lineno, "float(…); money is whole minor units"


def latest_charge_only(source: Source) -> Iterator[Finding]:
    """Nobody reads the `charges` of a PaymentIntent, which Stripe removed in 2022-11-15."""
    if source.room == "twin":
        return
    for node in source.nodes:
        if _reads_charges(node):
            yield getattr(node, "lineno", 0), "`charges` of an intent; read latest_charge"


def _reads_charges(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="charges", value=ast.Attribute(attr="v1")):
            return False  # The service of the Stripe library, not a field of an intent.
        case ast.Attribute(attr="charges"):
            return True
        case ast.Subscript(slice=ast.Constant(value="charges")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="charges"), *_]):
            return True
    return False


IN_DOMAIN = {"dateutil"}
"""Pure arithmetic of months that others have tested for twenty years (decision 0039)."""


def pure_domain(source: Source) -> Iterator[Finding]:
    """`domain/` imports the standard library, months' arithmetic and itself, and awaits nothing."""
    if source.room != "domain":
        return
    known = sys.stdlib_module_names | IN_DOMAIN
    for line, _, full in source.imports:
        if full.partition(".")[0] not in known and not _within(full, "domain"):
            yield line, f"import of {full}; the rules use the standard library only"
    for node in source.nodes:
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield node.lineno, "async; the rules wait for nothing"


STRANGERS = {"twin", "postgres"}


def strangers_know_nobody(source: Source) -> Iterator[Finding]:
    """`twin/` and `postgres/` import nothing of ours but themselves: each is usable alone."""
    if source.room in STRANGERS:
        for line, _, full in source.imports:
            if full.partition(".")[0] == OURS and not _within(full, source.room):
                yield line, f"import of {full}; {source.room} is usable alone"


def _within(full: str, room: str) -> bool:
    return f"{full}.".startswith(f"{OURS}.{room}.")


NOT_IN_ENGINE = {"asyncio", "time", "random", "secrets", "uuid", "threading", "socket"}


def engine_by_hand(source: Source) -> Iterator[Finding]:
    """`engine/` can be driven by hand: no event loop, no clock, no random."""
    if source.room == "engine":
        for line, _, full in source.imports:
            if full.partition(".")[0] in NOT_IN_ENGINE:
                yield line, f"import of {full}; the engine awaits only the store and the Provider"


SILENCED = re.compile(r"#.*?(noqa|type: ignore|pyrefly: ignore|pragma: no cover)(?P<rest>.*)")
CODES = re.compile(r"^(:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\s*\[[a-z, -]+\])?[\s:,#-]*")


def silence_has_a_reason(source: Source) -> Iterator[Finding]:
    """Whoever silences a checker says why on the same line."""
    for line, comment in source.comments:
        found = SILENCED.match(comment)
        if found and not re.search(r"[a-z]{3}", CODES.sub("", found["rest"], count=1)):
            yield line, f"{found[1]} without a reason on the line"


def no_banners(source: Source) -> Iterator[Finding]:
    """A file that needs section banners is two files."""
    for line, comment in source.comments:
        if re.search(r"[-=*#~]{4,}", comment):
            yield line, "a banner; split the file, or say it in a docstring"


RULES: tuple[Callable[[Source], Iterator[Finding]], ...] = (
    short_files,
    short_functions,
    stripe_in_its_room,
    sql_in_its_room,
    clock_and_dice,
    whole_money,
    latest_charge_only,
    pure_domain,
    strangers_know_nobody,
    engine_by_hand,
    silence_has_a_reason,
    no_banners,
)
"""Every rule about Python source."""

UNFINISHED = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
MACHINE = re.compile(r"(?<![\w.])/(w[o]rk|r[o]ot|t[m]p)/[a-z]")


def unfinished(text: str) -> Iterator[Finding]:
    """Nothing is left for later in a note that nobody reads."""
    yield from _lines(text, UNFINISHED, "a note about work left undone; do it, or file an issue")


def machine_paths(text: str) -> Iterator[Finding]:
    """Nothing names a folder of the machine it was written on."""
    yield from _lines(text, MACHINE, "a path of one machine")


def _lines(text: str, pattern: re.Pattern[str], what: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.search(line):
            yield number, f"{found[0]!r}: {what}"
