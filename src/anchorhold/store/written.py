"""What an end writes, as the parameters of its statement."""

from psycopg.types.json import Jsonb

from anchorhold.domain.answer import Decline
from anchorhold.domain.outcome import End


def words(decline: Decline | None) -> Jsonb | None:
    """A decline as it is kept: Stripe's codes and sentence."""
    if decline is None:
        return None
    return Jsonb(
        {
            "code": decline.code,
            "decline_code": decline.decline_code,
            "advice_code": decline.advice_code,
            "message": decline.message,
        }
    )


def written(end: End) -> dict[str, object]:
    """The parameters that ending an attempt writes."""
    return {
        "rule": end.rule,
        "state": end.state,
        "cause": end.cause,
        "payment_status": end.payment_status,
        "clears": end.clears,
        "moves_seq": end.moves_seq,
        "followed_intent": end.followed_intent,
        "keeps_following": end.keeps_following,
        "blocked": end.blocked,
        "intent_state": end.intent,
        "decline": words(end.decline),
        "charge_id": end.charge_id,
        "request_id": end.request_id,
        "pause_s": end.pause_s,
        "customer_acts": end.customer_acts,
        "fails_twice": end.fails_twice,
        "own_intent": end.own_intent,
        "manual": end.manual,
    }
