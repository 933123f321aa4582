"""What every command can be asked for, and the decorator that adds it to a command.

A command is a function of a `Call` and of its own options. `verb` registers it with the common
options, so that each of them reads the same everywhere and a function lists only its own.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer

P = ParamSpec("P")

PAGE_MAX: Final = 100

TIMES: Final = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"]
"""How a time is written, in UTC."""


class Format(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    NDJSON = "ndjson"
    """One object a line."""
    IDS = "ids"
    """One id a line."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one command was asked for, beside its own arguments."""

    output: Format | None = None
    utc: bool = False
    debug: bool = False
    account: str | None = None
    livemode: bool = False
    limit: int = 20
    starting_after: str | None = None
    everything: bool = False

    @property
    def format(self) -> Format:
        """As asked; else a table for people and lines for programs."""
        if self.output is not None:
            return self.output
        return Format.TABLE if sys.stdout.isatty() else Format.NDJSON


_COMMON: Final[dict[str, tuple[object, object]]] = {
    "output": (
        Annotated[
            Format | None,
            typer.Option("--output", "-o", help="Table in a terminal, ndjson in a pipe."),
        ],
        None,
    ),
    "utc": (Annotated[bool, typer.Option("--utc", help="Exact times in UTC.")], False),
    "debug": (
        Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")],
        False,
    ),
}
_SCOPED: Final[dict[str, tuple[object, object]]] = {
    "account": (
        Annotated[
            str | None,
            typer.Option("--account", help="Name or id; not needed when there is only one."),
        ],
        None,
    ),
    "livemode": (
        Annotated[bool, typer.Option("--live/--test", help="Live mode or test mode.")],
        False,
    ),
}
_LISTED: Final[dict[str, tuple[object, object]]] = {
    "limit": (
        Annotated[int, typer.Option("--limit", min=1, max=PAGE_MAX, help="Rows on a page.")],
        20,
    ),
    "starting_after": (
        Annotated[
            str | None,
            typer.Option("--starting-after", metavar="ID", help="The page behind this row."),
        ],
        None,
    ),
    "everything": (Annotated[bool, typer.Option("--all", help="Every page.")], False),
}


def noun(summary: str, *examples: str) -> typer.Typer:
    """A noun that verbs are registered on; without a verb it prints its help."""
    app = lone()
    app.info.help = _help(summary, examples)
    # Without a callback a noun with one verb would be taken for that verb.
    app.callback()(_nothing)
    return app


def _nothing() -> None:
    pass


def lone() -> typer.Typer:
    """A noun that is its only verb, such as `anchorhold tick`."""
    return typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


def verb(
    app: typer.Typer, name: str, *examples: str, scoped: bool = True, listed: bool = False
) -> Callable[
    [Callable[Concatenate[Call, P], Awaitable[None] | None]],
    Callable[Concatenate[Call, P], Awaitable[None] | None],
]:
    """Registers a function as `name`, with the common options and with examples in its help.

    `scoped` adds the choice of account and mode, `listed` the options of a list. The function may
    be a coroutine; it gets the common options as a `Call`.
    """
    common = _COMMON | (_SCOPED if scoped else {}) | (_LISTED if listed else {})

    def register(
        function: Callable[Concatenate[Call, P], Awaitable[None] | None],
    ) -> Callable[Concatenate[Call, P], Awaitable[None] | None]:
        act: Callable[..., Any] = function

        def command(**given: Any) -> None:
            asked = {name: given.pop(name) for name in common}
            made = act(Call(**asked), **given)
            if inspect.isawaitable(made):
                asyncio.run(_finished(made))

        _sign(command, function, common)
        words = inspect.cleandoc(function.__doc__ or "")
        app.command(name, help=_help(words, examples), short_help=words.partition("\n")[0])(command)
        return function

    return register


async def _finished(made: Awaitable[None]) -> None:
    await made


def _sign(
    command: Callable[..., None],
    function: Callable[..., object],
    common: dict[str, tuple[object, object]],
) -> None:
    """The command takes the function's own options, without its `Call`, and the common ones."""
    own = list(inspect.signature(function).parameters.values())[1:]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in common.items()
    ]
    parameters = [parameter.replace(kind=kind) for parameter in own] + added
    command.__annotations__ = {row.name: row.annotation for row in parameters}
    signature = inspect.Signature(parameters)
    setattr(command, "__signature__", signature)  # noqa: B010 - the type of functions lacks it


def _help(words: str, examples: tuple[str, ...]) -> str:
    """The first sentence, the examples, then the rest: examples are what people look for."""
    first, _, rest = words.partition("\n")
    shown = "\n".join(f"  {example}" for example in examples)
    return f"{first}\n\n\b\nExamples:\n{shown}\n{rest}"
