"""`anchorhold doctor`: is everything as the promise needs it?"""

import typer
from rich.text import Text

from anchorhold.cli import checkup
from anchorhold.cli.call import Call, Format, lone, verb
from anchorhold.cli.checkup import Finding, Level
from anchorhold.cli.objects import Object
from anchorhold.cli.output import console, print_json, show_one, wrapped
from anchorhold.domain.refusals import Exit

app = lone()

LEVEL_WIDTH = 9
CHECK_WIDTH = 13
INDENT = LEVEL_WIDTH + CHECK_WIDTH

STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.REFUSED: "red"}


@verb(app, "doctor", "anchorhold doctor", "anchorhold doctor --output json", scoped=False)
async def doctor(call: Call) -> None:
    """Check that everything is as the promise needs it; exit code 6 when something is not.

    Settings, the times that must fit together, the data folder, the secret key, the database and
    whether it keeps what it has acknowledged, the schema, the clocks, and whether Stripe accepts
    the key of each account. Changes nothing.
    """
    found = await checkup.examine()
    faults = [one for one in found if one.level is not Level.OK]
    match call.format:
        case Format.JSON:
            data = [_object(one) for one in found]
            print_json({"object": "checkup", "healthy": not faults, "findings": data})
        case Format.TABLE:
            for one in found:
                _print(one)
            print(f"\n{len(found)} checks, {len(faults)} findings")
        case _:
            for one in found:
                show_one(call, one.check, _object(one), lambda: None)
    if faults:
        raise typer.Exit(Exit.FINDINGS)


def _object(one: Finding) -> Object:
    return {
        "object": "finding",
        "id": one.check,
        "level": one.level.value,
        "sentence": one.sentence,
        "next_step": one.next_step or None,
    }


def _print(one: Finding) -> None:
    start = f"{one.level.value:<{LEVEL_WIDTH}}"
    text = Text(wrapped(f"{start}{one.check:<{CHECK_WIDTH}}{one.sentence}", INDENT))
    text.stylize(STYLES[one.level], 0, len(start))
    console().print(text, soft_wrap=True)
    if one.next_step:
        print(wrapped(f"{'':<{INDENT}}{one.next_step}", INDENT))
