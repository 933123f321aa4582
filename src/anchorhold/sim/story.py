"""A seed told as a timeline: who did what, when, and what Stripe said."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from anchorhold.sim.auditor import Rows
from anchorhold.sim.run import Played
from anchorhold.sim.world import Line
from anchorhold.twin.wire import Obj

WIDTH = 12
STEPS_OF_A_LINE = 4
DATABASE, STRIPE = "In the database", "At Stripe"
HEAD = 17


def told(played: Played) -> list[str]:
    """The world's story, a line a moment, and the judgement at its end."""
    verdict = played.violations or ("nothing: every invariant held",)
    return [
        f"World {played.seed}",
        *_lines(played.story),
        *_database(played.left),
        *_stripe(played.at_stripe),
        f"The auditor found {'; '.join(verdict)}.",
    ]


def _lines(story: Iterable[Line]) -> Iterator[str]:
    """What one does without a pause stands on one line."""
    for (at, who), lines in groupby(story, key=lambda line: (int(line.at), line.who)):
        parts = [line.what for line in lines]
        for start in range(0, len(parts), STEPS_OF_A_LINE):
            steps = ", ".join(parts[start : start + STEPS_OF_A_LINE])
            yield f"{_clock(at)}  {who:<{WIDTH}}  {steps}"


def _database(rows: Rows) -> Iterator[str]:
    """What the rows say in the end, a line an invoice."""
    for number, invoice in enumerate(rows["invoices"]):
        own = [one for one in rows["attempts"] if one["invoice_id"] == invoice["id"]]
        tries = "; ".join(_attempt(one) for one in sorted(own, key=lambda one: one["id"]))
        paid = sum(one["invoice_id"] == invoice["id"] for one in rows["payments"])
        told = [one["code"] for one in rows["notices"] if one["invoice_id"] == invoice["id"]]
        state = f"{invoice['status']}, {invoice['payment_status']}, payments: {paid}"
        notices = f", notices: {', '.join(told)}" if told else ""
        yield f"{DATABASE:<{HEAD}}invoice {number}: {state}{notices}; attempts: {tries or 'none'}"


def _attempt(one: Rows) -> str:
    why = " ".join(one[name] for name in ("cause", "rule") if one[name])
    return f"{one['seq']} {one['kind']} {one['state']}{f' ({why})' if why else ''}"


def _stripe(intents: Iterable[Obj]) -> Iterator[str]:
    """What Stripe says in the end, a line a PaymentIntent."""
    for intent in intents:
        of = f"{intent['amount']} {intent['currency']}, received {intent['amount_received']}"
        yield f"{STRIPE:<{HEAD}}{intent['id']}: {intent['status']}, {of}"


def _clock(seconds: int) -> str:
    """Days, hours, minutes and seconds after the world's beginning."""
    days, rest = divmod(seconds, 86_400)
    return f"{days}d {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
