"""What a webhook delivery is, row by row; nothing in a body counts before its signature does."""

import pytest

from anchorhold.domain.event_delivery import (
    BY_VERDICT,
    DELIVERY,
    Envelope,
    Expected,
    Signature,
    Signed,
    Verdict,
    judge,
)

TEST, LIVE = Expected(False, "acct_1"), Expected(True, "acct_1")
OURS = Envelope(livemode=False, stripe_account=None)
CASES = [
    ("just now", Signed(Signature.VALID, 0, 0), OURS, Verdict.GOOD),
    ("at the edge", Signed(Signature.VALID, 0, 300), OURS, Verdict.GOOD),
    ("too old", Signed(Signature.VALID, 0, 301), OURS, Verdict.STALE),
    ("at the other edge", Signed(Signature.VALID, 0, -300), OURS, Verdict.GOOD),
    ("from the future", Signed(Signature.VALID, 0, -301), OURS, Verdict.FUTURE),
    ("forged", Signed(Signature.FORGED, age_s=0), OURS, Verdict.FORGED),
    ("unsigned", Signed(Signature.MISSING), OURS, Verdict.UNSIGNED),
    ("unreadable", Signed(Signature.UNREADABLE), OURS, Verdict.MALFORMED),
    ("no secret", Signed(Signature.CLOSED), OURS, Verdict.CLOSED),
    ("valid, says nobody", Signed(Signature.VALID), OURS, Verdict.FORGED),
    ("no event", Signed(Signature.VALID, 0, 0), None, Verdict.MALFORMED),
    ("no mode", Signed(Signature.VALID, 0, 0), Envelope(None, None), Verdict.MALFORMED),
    ("live under a test secret", Signed(Signature.VALID, 0, 0), Envelope(True, None),
     Verdict.WRONG_MODE),
    ("live under a live secret", Signed(Signature.VALID, 1, 0), Envelope(True, None),
     Verdict.GOOD),
    ("of the connected account", Signed(Signature.VALID, 0, 0), Envelope(False, "acct_1"),
     Verdict.GOOD),
    ("of another account", Signed(Signature.VALID, 0, 0), Envelope(False, "acct_2"),
     Verdict.WRONG_ACCOUNT),
    ("old and of another account", Signed(Signature.VALID, 0, 900), Envelope(False, "acct_2"),
     Verdict.STALE),
]  # fmt: skip


@pytest.mark.parametrize(("signed", "envelope", "verdict"), [
    pytest.param(*case[1:], id=case[0]) for case in CASES
])  # fmt: skip
def test_a_delivery_is(signed: Signed, envelope: Envelope | None, verdict: Verdict) -> None:
    assert judge(signed, envelope, [TEST, LIVE], 300) is verdict


def test_every_verdict_has_one_row() -> None:
    assert set(BY_VERDICT) == set(Verdict)
    assert len(DELIVERY) == len(Verdict)


def test_only_a_good_delivery_brings_an_event() -> None:
    assert {row.verdict for row in DELIVERY if row.takes} == {Verdict.GOOD}


def test_only_what_is_in_is_answered_as_received() -> None:
    received = {row.verdict for row in DELIVERY if row.status < 300}
    assert received == {Verdict.GOOD, Verdict.REPEAT}
