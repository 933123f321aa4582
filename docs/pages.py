"""The pages that tell what the code says: settings, rules, refusals, the table of nouns.

`python docs/generate.py` writes them; a test fails when one is stale.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Final

from docs.closing import closing_part
from docs.direct import delivery_parts, direct_part, recover_part
from docs.dunning import dunning_part
from docs.markdown import codes, table
from docs.news import news_parts
from docs.source import NOUNS, ROOMS, docstrings_of, files_of, is_read
from docs.worlds import WORLD_PAGES
from pydantic import SecretStr

from anchorhold.domain import (
    access,
    attempt,
    declines,
    following,
    invoice,
    outcome,
    payment,
    preparing,
    refusals,
    sweep,
    timing,
    watching,
)
from anchorhold.domain.refusal_kinds import Coded
from anchorhold.settings import Settings

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = ROOT / "src" / "anchorhold"
MADE: Final = "<!-- Made by docs/generate.py. Do not edit: change the code and run it again. -->"


UNREAD: Final = " *Nothing waits for it yet.*"

SETTLED: Final = {
    "PAID": "Paid by this.",
    "DUPLICATE": "It was paid by another one already: this money is owed back.",
    "VOIDED": "It was void: this money is owed back.",
}
"""The verdicts that need no words in the code."""


def settings_page() -> str:
    """`docs/reference/settings.md`."""
    described = docstrings_of(PACKAGE / "settings.py", "Settings")
    times = docstrings_of(PACKAGE / "domain" / "timing.py", "Timing")
    plain = [
        (f"`{timing.setting_name(name)}`", _default(name), described[name])
        for name in Settings.model_fields
        if name != "timing"
    ]
    timed = [
        (
            f"`{timing.setting_name(field.name)}`",
            f"`{field.default:g}`",
            times[field.name] + ("" if is_read(PACKAGE, field.name) else UNREAD),
        )
        for field in fields(timing.Timing)
        if isinstance(field.default, int | float)
    ]
    return f"""# Settings

{MADE}

Environment variables, read once at the start. A name that begins with `ANCHORHOLD_` and is not
below is refused with the nearest one that is. An empty value is refused. Variables that begin with
`ANCHORHOLD_TEST_` belong to the project's own tests.

{table("variable|default|what it says", plain)}
Without `ANCHORHOLD_DATA_DIR` the data folder is `/var/lib/anchorhold` for root. For anybody else it
is `anchorhold` in `XDG_DATA_HOME`, or in `~/.local/share` when that is not set.

## Times

All in seconds. They are safe only together: a start that breaks one of the
[relations](rules.md#times-that-are-safe-together) is refused with `timing_unsafe`.

{table("variable|default|what it says", timed)}"""


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if name == "data_dir":
        return "see below"
    if field.default is None:
        return "not set (a secret)" if "SecretStr" in str(field.annotation) else "not set"
    if isinstance(field.default, SecretStr):
        return "a secret"
    is_number = isinstance(field.default, int | float)
    return f"`{field.default:g}`" if is_number else f"`{field.default}`"


def rules_page() -> str:
    """`docs/reference/rules.md`."""
    parts = (
        *(_outcome, _ends, direct_part, _access, closing_part, _claims),
        *(_sweep, _prepare, _follow, _watch, recover_part, news_parts, delivery_parts, _verdicts),
        dunning_part,
    )
    return f"""# Rules

{MADE}

Every decision about money is a row of a table in `domain/`, and the code reads these same tables.
The first row that fits decides. The id of the row is written to the invoice's journal.

{"".join(part() for part in parts)}{_relations()}
{_declines()}"""


def _outcome() -> str:
    rows = [(row.id, _answer(row), f"`{row.meaning}`", row.because) for row in outcome.OUTCOME]
    return (
        "## What the answer to a confirm means\n\n"
        "Which answer to the only send of an attempt is definite, and which is not.\n\n"
        + table("id|answer|meaning|because", rows)
        + "\n"
    )


def _answer(row: outcome.Row) -> str:
    words = {
        outcome.Said.INTENT: "Stripe shows the intent",
        outcome.Said.REFUSED: "Stripe refuses",
        outcome.Said.NOTHING_SENT: "nothing was sent",
        outcome.Said.UNCLEAR: "no readable answer after the first byte",
    }
    conditions = [
        codes(row.intent, of=outcome.IntentStatus) if row.intent else "",
        f"HTTP {codes(row.http)}" if row.http else "",
        f"type {codes(row.types)}" if row.types else "",
        f"code {codes(row.codes)}" if row.codes else "",
        f"parameter {codes(row.params)}" if row.params else "",
        codes(row.not_sent) if row.not_sent else "",
    ]
    said = ", ".join(condition for condition in conditions if condition)
    otherwise = row.said in {outcome.Said.INTENT, outcome.Said.REFUSED} and not said
    return f"{words[row.said]}: {said or 'anything else'}" if said or otherwise else words[row.said]


def _ends() -> str:
    rows = [
        (
            f"`{meaning}`",
            f"`{end.state}`",
            f"`{end.payment_status}`" if end.payment_status else "as the claim found it",
            "cleared" if end.clears else "kept: the sweep asks Stripe",
            "moves" if end.moves_seq else "stays",
            f"{end.pause_s:g} s" if end.pause_s else "none",
            f"`{end.blocked}`" if end.blocked else "",
        )
        for meaning, end in outcome.ENDS.items()
    ]
    head = "meaning|attempt becomes|payment status|hold|counter|pause|automatic charge blocked"
    return (
        "### What each meaning saves\n\n"
        "In one commit. `settle` is not here: it has its own statement, see\n"
        "[settling](../concepts/settling.md). `ask` and `read_intent` look at the intent first.\n\n"
        + table(head, rows)
        + "\n"
    )


def _access() -> str:
    rows = [
        (
            row.id,
            f"`{row.action}`",
            *(f"`{state}`" for state in (row.live, row.stale, row.parked, row.following)),
        )
        for row in access.ACCESS
    ]
    words = docstrings_of(PACKAGE / "domain" / "access.py", "Access")
    said = [
        (f"`{member}`", words.get(member.name, "Nothing stands in the way.").strip())
        for member in access.Access
    ]
    return (
        "## What a hold allows\n\n"
        "Without a hold and without a followed intent every act is allowed.\n\n"
        + table("id|act|hold live|hold stale|parked|following", rows)
        + "\n"
        + table("word|means", said)
        + "\n"
    )


def _claims() -> str:
    rows = [
        (
            f"`{kind}`",
            "yes" if kind in attempt.CHARGES else "no",
            codes(found, of=type(found[0])),
        )
        for kind, found in attempt.CLAIMS_FROM.items()
    ]
    return (
        "## Which payment status a claim admits\n\n"
        + table("kind|may send a charge|payment status", rows)
        + "\n"
    )


def _sweep() -> str:
    rows = [
        (
            row.id,
            ", or ".join(found.value for found in sweep.Found if found in row.found),
            _invoices(row.invoice),
            _traces(row.trace),
            row.act.value,
            "goes on" if row.goes_on else "ends the check",
            row.because,
        )
        for row in sweep.SWEEP
    ]
    return (
        "## What one check of a stale hold decides\n\n"
        "Rows that go on act first; then the rows are read again, and one row ends the check.\n\n"
        + table("id|Stripe shows|invoice|the own attempt|then|check|because", rows)
        + "\n"
    )


def _traces(traces: frozenset[sweep.Trace]) -> str:
    if traces == sweep.ANY_TRACE:
        return "any"
    return ", or ".join(trace.value for trace in sweep.Trace if trace in traces)


def _invoices(statuses: frozenset[invoice.InvoiceStatus]) -> str:
    named = {invoice.ANY: "any", invoice.OPEN: "open", invoice.CLOSED: "not open"}
    return named.get(statuses) or codes(statuses, of=invoice.InvoiceStatus)


def _prepare() -> str:
    rows = [
        (
            row.id,
            f"HTTP {codes(row.http)}" + (f", type {codes(row.types)}" if row.types else "")
            if row.http
            else "any other refusal",
            f"`{row.step}`",
            row.because,
        )
        for row in preparing.PREPARE
    ]
    return (
        "## What an answer to a request that moves no money means\n\n"
        "For customers, payment methods and new intents. Nothing sent and unclear are repeated\n"
        "with the same key and the same parameters.\n\n"
        + table("id|Stripe refuses with|step|because", rows)
        + "\n"
    )


def _follow() -> str:
    return (
        "## What a followed intent means\n\nAn open invoice in `processing` has one.\n\n"
        + _by_status(following.FOLLOW)
    )


def _watch() -> str:
    return (
        "## What a watched intent means\n\n"
        "Watched is the live intent of a superseded attempt: that attempt's charge may still "
        "come.\n\n" + _by_status(watching.WATCH)
    )


def _by_status(rules: Iterable[following.Row | watching.Row]) -> str:
    rows = [
        (
            row.id,
            codes(row.intent, of=outcome.IntentStatus),
            _invoices(row.invoice),
            f"`{row.act}`",
            row.because,
        )
        for row in rules
    ]
    return table("id|intent|invoice|then|because", rows) + "\n"


def _verdicts() -> str:
    words = docstrings_of(PACKAGE / "domain" / "payment.py", "Verdict")
    rows = [
        (
            f"`{verdict}`",
            words.get(verdict.name) or SETTLED[verdict.name],
            f"`{payment.NOTICES[verdict]}`" if verdict in payment.NOTICES else "",
        )
        for verdict in payment.Verdict
    ]
    return (
        "## What the news of a success does\n\n"
        "A notice needs a person; it stays open until one acts.\n\n"
        + table("verdict|means|notice", rows)
        + "\n"
    )


def _relations() -> str:
    rows = [
        (row.id, f"{_sum(row.left)} {row.compare} {_sum(row.right)}", row.because)
        for row in timing.RELATIONS
    ]
    return (
        "## Times that are safe together\n\n"
        "T0: each time is more than 0. The life of an idempotency key is 24 hours at Stripe.\n\n"
        + table("id|must be so|because", rows)
    )


def _sum(names: tuple[str, ...]) -> str:
    return " + ".join(
        "the life of a key" if name == timing.KEY_LIFE else f"`{timing.setting_name(name)}`"
        for name in names
    )


def _declines() -> str:
    words = docstrings_of(PACKAGE / "domain" / "declines.py", "Remedy")
    remedies = [(f"`{_word(remedy)}`", words[remedy.name]) for remedy in declines.Remedy]
    rows = [
        (f"`{row.code}`", f"`{_word(row.remedy)}`", row.sentence, "no" if row.private else "yes")
        for row in sorted(declines.TABLE.values(), key=lambda row: (row.remedy, row.code))
    ]
    advice = [(f"`{code}`", f"`{_word(least)}`") for code, least in declines.ADVICE.items()]
    return (
        "## What a decline asks for\n\n"
        "The strictest of the decline code, the error code and Stripe's advice. A code that is\n"
        f"not below means `{_word(declines.DEFAULT.remedy)}`. Where the customer is not told, he "
        f'reads "{declines.DEFAULT.sentence}"\n\n'
        + table("remedy|before the next automatic charge", remedies)
        + "\n"
        + table("advice code|at least", advice)
        + "\n"
        + table("code|remedy|what it says|is the customer told", rows)
    )


def _word(remedy: declines.Remedy) -> str:
    return remedy.name.lower()


def refusals_page() -> str:
    """`docs/reference/refusals.md`; the anchor of each is its code."""
    by_kind: dict[refusals.Kind, list[Coded]] = {kind: [] for kind in refusals.Kind}
    for code in refusals.CODES:
        by_kind[code.value.kind].append(code)
    parts = "\n".join(_refusal(code) for codes in by_kind.values() for code in codes)
    return f"""# Refusals

{MADE}

Every "no" that the product says: a code that does not change, a sentence, and the next step. Words
in braces are filled with the facts of the case. The command line prints the sentence on standard
error and leaves with the exit code; nothing is half done.

{parts}"""


def _refusal(code: Coded) -> str:
    surface = code.surface
    return (
        f"## {code.code}\n\n{code.value.sentence}\n\n"
        f"**Next step:** {code.value.next_step}\n\n"
        f"`{surface.error_type}`, HTTP {surface.status}, exit code {surface.exit.value}\n"
    )


def nouns_table() -> str:
    """The files of each noun, room by room; the tests of a file are `tests/<room>/test_<file>`."""
    rows = [
        (
            noun,
            *(
                ", ".join(f"`{path.name}`" for path in files_of(PACKAGE, noun, room))
                for room in ROOMS
            ),
        )
        for noun in NOUNS
    ]
    return table("|".join(("noun", *(f"`{room}/`" for room in ROOMS))), rows)


def contributing() -> str:
    """`CONTRIBUTING.md` with the table of nouns between its marks."""
    before, _, rest = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{nouns_table()}{END}{after}"


BEGIN: Final = "<!-- nouns:start -->"
END: Final = "<!-- nouns:end -->"

PAGES: Final[dict[str, Callable[[], str]]] = {
    "docs/reference/settings.md": settings_page,
    "docs/reference/rules.md": rules_page,
    "docs/reference/refusals.md": refusals_page,
    "CONTRIBUTING.md": contributing,
    **{name: partial(make, MADE) for name, make in WORLD_PAGES.items()},
}
"""Every page that is made, or has a part that is."""
