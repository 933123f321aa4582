"""Ids sort by time, derived ones come out the same again, and keys never collide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhold.domain import ids
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.entropy import new_id

times = st.integers(min_value=0, max_value=2**48 - 1)
entropy = st.binary(min_size=10, max_size=10)
parts = st.lists(st.one_of(st.text(max_size=6), st.integers()), max_size=4)


@given(times, entropy)
def test_an_id_is_its_prefix_and_26_characters_and_is_read_back(at_ms: int, random: bytes) -> None:
    made = ids.make(ids.INVOICE, at_ms, random)
    assert made.startswith("inv_")
    assert len(made) == 30
    assert ids.INVOICE.parse(made) == made


@given(times, entropy, times, entropy)
def test_ids_sort_by_their_time(early: int, low: bytes, late: int, high: bytes) -> None:
    one, two = ids.make(ids.INVOICE, early, low), ids.make(ids.INVOICE, late, high)
    assert (one < two) == ((early, low) < (late, high))


def test_an_id_is_spelled_as_a_ulid_is() -> None:
    at_ms, random = 1469918176385, bytes.fromhex("d6764c61efb99302bd5b")
    assert ids.make(ids.INVOICE, at_ms, random) == "inv_01ARYZ6S41TSV4RRFFQ69G5FAV"


@pytest.mark.parametrize(("at_ms", "size"), [(-1, 10), (2**48, 10), (0, 9), (0, 11)])
def test_a_time_or_randomness_that_does_not_fit_is_a_bug(at_ms: int, size: int) -> None:
    with pytest.raises(ValueError, match="48 bits"):
        ids.make(ids.INVOICE, at_ms, bytes(size))


def test_each_kind_has_a_prefix_of_its_own_and_none_looks_like_a_stripe_account() -> None:
    prefixes = {kind.prefix for kind in ids.KINDS}
    assert len(prefixes) == len(ids.KINDS)
    assert "acct" not in prefixes


@pytest.mark.parametrize(
    "text",
    [
        "", "inv_", "inv", "att_01ARYZ6S41TSV4RRFFQ69G5FAV", "inv_01aryz6s41tsv4rrffq69g5fav",
        "inv_01ARYZ6S41TSV4RRFFQ69G5FA", "inv_01ARYZ6S41TSV4RRFFQ69G5FAVV",
        "inv_81ARYZ6S41TSV4RRFFQ69G5FAV", "inv_01ARYZ6S41TSV4RRFFQ69G5FAU",
        "inv_01ARYZ6S41TSV4RRFFQ69G5FAV\n", "inv_" + "9" * 10_000,
    ],
)  # fmt: skip
def test_what_is_not_an_id_of_the_kind_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as no:
        ids.INVOICE.parse(text)
    assert no.value.code is Code.ID_MALFORMED
    assert len(str(no.value)) < 250


def test_new_ids_differ_and_carry_their_kind() -> None:
    made = {new_id(ids.REQUEST) for _ in range(100)}
    assert len(made) == 100
    assert all(ids.REQUEST.parse(one) == one for one in made)


@given(parts, parts)
def test_derived_ids_and_keys_are_equal_exactly_when_their_parts_are(
    left: list[str | int], right: list[str | int]
) -> None:
    alike = [(type(p), p) for p in left] == [(type(p), p) for p in right]
    assert (ids.derive(ids.ATTEMPT, *left) == ids.derive(ids.ATTEMPT, *right)) == alike
    assert (ids.key_of("charge", *left) == ids.key_of("charge", *right)) == alike


@pytest.mark.parametrize(
    ("left", "right"),
    [(("ab", "c"), ("a", "bc")), (("ab",), ("a", "b")), ((1,), ("1",)), ((), ("",))],
)
def test_parts_never_run_together(
    left: tuple[str | int, ...], right: tuple[str | int, ...]
) -> None:
    assert ids.key_of("charge", *left) != ids.key_of("charge", *right)
    assert ids.derive(ids.ATTEMPT, *left) != ids.derive(ids.ATTEMPT, *right)


@given(parts)
def test_a_key_fits_into_stripes_255_characters_and_says_what_it_is_for(
    some: list[str | int],
) -> None:
    key = ids.key_of("charge", *some)
    assert key.startswith("anchorhold-charge-")
    assert key.isascii()
    assert len(key) <= 255


def test_the_longest_kind_still_fits_and_a_longer_one_is_a_bug() -> None:
    assert len(ids.key_of("a" * 40, "x")) <= 255
    for kind in ("a" * 41, "", "Charge", "a b", "1"):
        with pytest.raises(ValueError, match="kind of request"):
            ids.key_of(kind, "x")


def test_a_key_moves_with_the_counter_and_with_the_request() -> None:
    assert ids.key_of("charge", "acc_1", "inv_1", 7) == ids.key_of("charge", "acc_1", "inv_1", 7)
    assert ids.key_of("charge", "acc_1", "inv_1", 7) != ids.key_of("charge", "acc_1", "inv_1", 8)
    assert ids.key_of("charge", "acc_1", "inv_1", 7) != ids.key_of("intent", "acc_1", "inv_1", 7)


def test_derived_values_never_change_between_releases() -> None:
    """A key that changed would let a request from before an upgrade be sent a second time."""
    assert ids.key_of("charge", "acc_1", "inv_1", 1) == (
        "anchorhold-charge-b60c73314edb491553b10041a6067af8ecc2015672dcbdcd6cde0d5e37ce8041"
    )
    assert ids.derive(ids.ATTEMPT, "acc_1", "inv_1", 1) == "att_6N8P68KDP2JC0KC713511ZJH0H"
