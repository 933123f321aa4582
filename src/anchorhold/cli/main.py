"""The entry point: runs one command and turns whatever happens into a line and an exit code."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Final, NoReturn

import typer
from typer.exceptions import TyperException

from anchorhold import __version__
from anchorhold.cli.nouns import Nouns, lines
from anchorhold.domain.refusals import Exit, Refusal

PROGRAM: Final = "anchorhold"
SUGGESTION: Final = re.compile(r" \(Possible options: (.*)\)$")


def main() -> NoReturn:
    """Runs the command line of this process and exits."""
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """The exit code of one command line; everything it has to say is on stdout and stderr."""
    try:
        _require_text(args)
        code = _program().main(args, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except Refusal as refusal:
        return _refused(refusal)
    except TyperException as wrong:
        return _wrong_usage(wrong)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", "stopped.", Exit.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; a second complaint at exit helps nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except Exception as error:
        return _unexpected(error, debug="--debug" in args)
    return code if isinstance(code, int) else Exit.DONE


def _require_text(args: Sequence[str]) -> None:
    """The shell gave valid UTF-8; Python puts other bytes into words as lone surrogates."""
    for word in args:
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise typer.BadParameter(f"{word!r} is not UTF-8.")


def _program() -> Nouns:
    app = typer.Typer(
        cls=Nouns,
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        help=HELP,
    )
    app.callback()(_options)
    program = typer.main.get_group(app)
    if not isinstance(program, Nouns):
        raise TypeError("typer made another kind of group")
    program.commands.update(lines())
    return program


HELP = """Collect invoices through Stripe: never a second payment, never a lost one.

\b
Examples:
  anchorhold up
  anchorhold invoice import invoices.csv
"""


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it so
    if asked:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")
    ] = False,
) -> None:
    """Options of the program itself; `run` looks for --debug wherever it stands."""
    del version, debug


def _refused(refusal: Refusal) -> int:
    line = f"{refusal.sentence} [{refusal.code.code}] {refusal.next_step}"
    return _say("refused", line, refusal.code.surface.exit)


def _wrong_usage(wrong: TyperException) -> int:
    if type(wrong).__name__ == "NoArgsIsHelpError":
        typer.echo(wrong.format_message(), err=True)
        return Exit.USAGE
    said = SUGGESTION.sub(r". Did you mean \1?", wrong.format_message())
    context = getattr(wrong, "ctx", None)
    path = context.command_path if context else PROGRAM
    return _say("error", f"{said} [usage] See `{path} --help`.", Exit.USAGE)


def _unexpected(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if "psycopg" in sys.modules and (refusal := _of_database(error)):
        return _refused(refusal)
    words = " ".join(str(error).split()) or "no further words"
    advice = "" if debug else " Run it again with --debug to see where."
    line = f"Something unexpected went wrong: {type(error).__name__}: {words[:300]}"
    return _say("error", f"{line} [internal_error]{advice}", Exit.FAILED)


def _of_database(error: Exception) -> Refusal | None:
    from anchorhold.store.db import broken_off  # noqa: PLC0415 - the help needs no database

    return broken_off(error)


def _say(label: str, line: str, code: int) -> int:
    sys.stdout.flush()
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    typer.secho(f"{label}: ", err=True, nl=False, bold=True, fg="red" if colour else None)
    typer.echo(line, err=True)
    return code
