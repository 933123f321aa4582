"""`anchorhold rules`: the tables by which everything is decided, from the code that decides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, Final

import typer

from anchorhold.cli import objects
from anchorhold.cli.call import Call, Format, lone, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import print_json, show_one, wrapped
from anchorhold.domain import (
    access,
    closing,
    declines,
    disputes,
    dunning,
    following,
    news,
    notices,
    outcome,
    preparing,
    recovering,
    refund,
    sweep,
    watching,
)
from anchorhold.domain.invoice import ANY, CLOSED
from anchorhold.domain.refusals import CODES, Code, Refusal
from anchorhold.domain.timing import RELATIONS, Relation, name_of

app = lone()


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of one table: its id, when it fits, what follows, and why."""

    table: str
    id: str
    when: str
    then: str
    because: str


def _columns(row: object, names: Sequence[str]) -> str:
    """The row's conditions as text; empty ones fit everything and are left out."""
    parts = [(LABELS[name], _said(getattr(row, name))) for name in names]
    return "; ".join(f"{label} {text}".strip() for label, text in parts if text)


LABELS: Final = {
    "said": "Stripe's answer:",
    "found": "",
    "intent": "PaymentIntent",
    "invoice": "invoice",
    "http": "HTTP",
    "types": "type",
    "codes": "code",
    "params": "parameter",
    "row": "its row",
}
"""What people read for the columns of the tables."""


def _said(value: object) -> str:
    match value:
        case Enum():
            return str(value.value)
        case frozenset() if value in (ANY, recovering.ROWS, recovering.BILLS):
            return ""
        case frozenset() if value == CLOSED:
            return "closed"
        case str():
            return value
        case Iterable():
            return " or ".join(sorted(_said(item) for item in value))
        case _:
            return str(value)


def _outcome() -> list[Rule]:
    names = ("said", "intent", "http", "types", "codes", "params")
    return [
        Rule("outcome", row.id, _columns(row, names), _then(row.meaning), row.because)
        for row in outcome.OUTCOME
    ]


def _then(value: Enum) -> str:
    return str(value.value).replace("_", " ")


def _sweep() -> list[Rule]:
    return [
        Rule("sweep", row.id, _columns(row, ("found", "invoice")), _then(row.act), row.because)
        for row in sweep.SWEEP
    ]


def _access() -> list[Rule]:
    states = ("live", "stale", "parked", "following")
    return [
        Rule(
            "access",
            row.id,
            _then(row.action),
            _met({state: _then(getattr(row, state)) for state in states}),
            "the hold is asked before anything that cannot be undone",
        )
        for row in access.ACCESS
    ]


def _met(answers: Mapping[str, str]) -> str:
    """What an act meets in each state in which something may be under way."""
    if len(set(answers.values())) == 1:
        return f"{answers['live']}, whatever is under way"
    return "; ".join(f"{state}: {answer}" for state, answer in answers.items())


def _closing() -> list[Rule]:
    return [
        Rule("closing", row.id, closing.conditions(row), _then(row.step), row.because)
        for row in closing.CLOSING
    ]


def _final_action() -> list[Rule]:
    return [
        Rule(
            "final_action",
            row.id,
            _then(row.action),
            "the invoice ends" if row.closes else "the invoice stays open",
            row.because,
        )
        for row in closing.FINAL_ACTIONS
    ]


def _dunning() -> list[Rule]:
    return [
        Rule("dunning", row.id, dunning.conditions(row), f"{row.step}: {row.when}", row.because)
        for row in dunning.NEXT_STEP
    ]


def _prepare() -> list[Rule]:
    return [
        Rule("prepare", row.id, _columns(row, ("http", "types")), _then(row.step), row.because)
        for row in preparing.PREPARE
    ]


def _follow() -> list[Rule]:
    return [
        Rule("follow", row.id, _columns(row, ("intent", "invoice")), _then(row.act), row.because)
        for row in following.FOLLOW
    ]


def _watch() -> list[Rule]:
    return [
        Rule("watch", row.id, _columns(row, ("intent", "invoice")), _then(row.act), row.because)
        for row in watching.WATCH
    ]


def _declines() -> list[Rule]:
    return [
        Rule(
            "declines",
            row.code,
            f"decline code {row.code}",
            row.remedy.name.lower().replace("_", " "),
            row.sentence,
        )
        for row in declines.TABLE.values()
    ]


def _timing() -> list[Rule]:
    otherwise = "otherwise no start"
    return [Rule("timing", row.id, _relation(row), otherwise, row.because) for row in RELATIONS]


def _relation(row: Relation) -> str:
    left, right = (" + ".join(map(name_of, side)) for side in (row.left, row.right))
    return f"{left} {row.compare} {right}"


def _refusals() -> list[Rule]:
    return [
        Rule(
            "refusals",
            code.code,
            code.value.sentence,
            f"exit {code.surface.exit.value}, HTTP {code.surface.status}",
            code.value.next_step,
        )
        for code in CODES
    ]


def _recover() -> list[Rule]:
    names = ("intent", "invoice", "row")
    return [
        Rule("recover", row.id, _columns(row, names), _then(row.act), row.because)
        for row in recovering.RECOVER
    ]


def _news() -> list[Rule]:
    return [
        Rule("news", row.id, _said(row.types), _then(row.act), row.because) for row in news.NEWS
    ]


def _refund() -> list[Rule]:
    names = ("http", "types", "codes")
    return [
        Rule("refund", row.id, _columns(row, names), _then(row.after), row.because)
        for row in refund.REFUND
    ]


def _disputes() -> list[Rule]:
    return [
        Rule("disputes", row.id, _said(row.statuses), _then(row.means), row.because)
        for row in disputes.DISPUTES
    ]


def _notices() -> list[Rule]:
    return [
        Rule("notices", row.code, row.happened, row.to_do, row.because) for row in notices.NOTICES
    ]


TABLES: Final = {
    "outcome": ("what an answer to a charge means", _outcome),
    "sweep": ("what a check of a stale hold decides", _sweep),
    "access": ("which act a hold allows", _access),
    "closing": ("what the answer to a cancel means for whoever closes", _closing),
    "final_action": ("what dunning's final action does to its invoice", _final_action),
    "dunning": ("what a dunning run does next", _dunning),
    "prepare": ("what an answer to a request without money means", _prepare),
    "follow": ("what the status of a followed PaymentIntent means", _follow),
    "watch": ("what the status of a watched PaymentIntent means", _watch),
    "recover": ("what is done about a PaymentIntent after commits were lost", _recover),
    "news": ("what an event of Stripe's may do", _news),
    "refund": ("what the answer to a refund means", _refund),
    "disputes": ("what a dispute's status means for the payment", _disputes),
    "notices": ("what needs a person, and what to do about it", _notices),
    "declines": ("what a decline code asks for", _declines),
    "timing": ("which times are safe together", _timing),
    "refusals": ("every no, with its next step", _refusals),
}
"""Each table by its name, with what it decides."""


@verb(app, "rules", "anchorhold rules sweep", "anchorhold rules S8 --output json", scoped=False)
def rules(
    call: Call,
    which: Annotated[
        str | None,
        typer.Argument(metavar="TABLE_OR_ID", help=f"One of {', '.join(TABLES)}; or a row's id."),
    ] = None,
) -> None:
    """Print the tables by which everything is decided, or one of them, or one row.

    The rows are the program's own: what is printed here is what decides. Their ids stand in the
    story of each invoice.
    """
    found = select(which)
    match call.format:
        case Format.JSON:
            data = [_object(rule) for rule in found]
            print_json({"object": "list", "data": data, "has_more": False})
        case Format.TABLE:
            _screen(found)
        case _:
            for rule in found:
                show_one(call, rule.id, _object(rule), lambda: None)


def select(which: str | None) -> list[Rule]:
    """The rows of all tables, of one table, or the rows with one id. Refuses: RULE_NOT_FOUND."""
    everything = {name: rows() for name, (_, rows) in TABLES.items()}
    if which is None:
        return [rule for rows in everything.values() for rule in rows]
    if which in everything:
        return everything[which]
    found = [rule for rows in everything.values() for rule in rows if rule.id == which]
    if not found:
        raise Refusal(Code.RULE_NOT_FOUND, id=which)
    return found


def _object(rule: Rule) -> Object:
    return {
        "object": "rule",
        **{field.name: objects.plain(getattr(rule, field.name)) for field in fields(rule)},
    }


def _screen(found: Sequence[Rule]) -> None:
    tables: Mapping[str, list[Rule]] = {
        name: [rule for rule in found if rule.table == name] for name in TABLES
    }
    for name, rules_ in tables.items():
        if not rules_:
            continue
        print(f"{name}: {TABLES[name][0]}\n")
        width = max(len(rule.id) for rule in rules_)
        for rule in rules_:
            indent = width + 2
            print(wrapped(f"{rule.id:<{width}}  {rule.when}  →  {rule.then}", indent))
            print(wrapped(f"{'':<{indent}}{rule.because}", indent))
            print()
