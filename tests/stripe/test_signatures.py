"""Which secret signed a delivery, over the raw bytes and at which age (cases D1, D2, D4, D5)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stripe import WebhookSignature

from anchorhold.domain.event_delivery import Signature, Signed
from anchorhold.stripe.signatures import read

AT = 1_790_000_000
NEW, OLD = "whsec_new", "whsec_old"
BODY = '{"id": "evt_1",  "livemode":false, "name": "Zoë ✓"}'.encode()


def header(body: bytes = BODY, secret: str = NEW, at: int = AT) -> str:
    return WebhookSignature.generate_signature_header(body.decode(), secret, at)


def test_the_raw_bytes_are_verified() -> None:
    assert read(BODY, header(), [NEW], AT) == Signed(Signature.VALID, 0, 0)


def test_the_same_json_written_again_is_forged() -> None:
    again = json.dumps(json.loads(BODY)).encode()
    assert read(again, header(), [NEW], AT).signature is Signature.FORGED


def test_while_a_secret_is_rolled_either_counts_and_is_named() -> None:
    assert read(BODY, header(secret=OLD), [NEW, OLD], AT).secret == 1
    assert read(BODY, header(secret=NEW), [NEW, OLD], AT).secret == 0


def test_one_of_several_signatures_is_enough() -> None:
    two = header(secret="whsec_other") + "," + header(secret=OLD).split(",")[1]
    assert read(BODY, two, [NEW, OLD], AT) == Signed(Signature.VALID, 1, 0)


def test_the_age_has_two_sides() -> None:
    assert read(BODY, header(at=AT - 7), [NEW], AT).age_s == 7
    assert read(BODY, header(at=AT + 7), [NEW], AT).age_s == -7


def test_a_time_that_was_changed_is_forged() -> None:
    old = header(at=AT - 900).replace(str(AT - 900), str(AT))
    assert read(BODY, old, [NEW], AT) == Signed(Signature.FORGED, age_s=0)


@pytest.mark.parametrize("secrets", [[], [""], [" \t"], ["", " "]])
def test_without_a_secret_the_endpoint_is_closed(secrets: list[str]) -> None:
    assert read(BODY, header(secret="whsec_any"), secrets, AT) == Signed(Signature.CLOSED)


def test_an_empty_secret_beside_a_real_one_signs_nothing() -> None:
    assert read(BODY, header(secret=""), ["", NEW], AT).signature is Signature.FORGED


@pytest.mark.parametrize("missing", [None, ""])
def test_no_header_is_unsigned(missing: str | None) -> None:
    assert read(BODY, missing, [NEW], AT) == Signed(Signature.MISSING)


@pytest.mark.parametrize("wrong", ["t=,v1=a", "v1=abc", "t=one,v1=a", "t=1;v1=a", "t=\uff11,v1=a",
                                   f"t={AT}\n,v1=a", "t=" + "9" * 5000])  # fmt: skip
def test_a_header_without_a_time_is_unreadable(wrong: str) -> None:
    assert read(BODY, wrong, [NEW], AT) == Signed(Signature.UNREADABLE)


@pytest.mark.parametrize("scheme", ["v0", "v2", "V1", ""])
def test_another_scheme_signs_nothing(scheme: str) -> None:
    other = header().replace("v1=", f"{scheme}=")
    assert read(BODY, other, [NEW], AT).signature is Signature.FORGED


def test_a_body_that_is_no_text_is_unreadable() -> None:
    assert read(b"\xff\xfe", f"t={AT},v1=00", [NEW], AT) == Signed(Signature.UNREADABLE)


@given(body=st.binary(max_size=200), said=st.text(max_size=80))
def test_whatever_is_sent_it_is_judged_and_never_valid(body: bytes, said: str) -> None:
    assert read(body, said, [NEW, OLD], AT).signature is not Signature.VALID


@given(body=st.text(max_size=200), at=st.integers(0, 10**11))
def test_what_stripe_signed_is_valid(body: str, at: int) -> None:
    sent = body.encode("utf-8", "replace")
    assert read(sent, header(sent, at=at), [OLD, NEW], AT) == Signed(Signature.VALID, 1, AT - at)
