"""A secret at rest opens with its key, in its place, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhold.crypto import UnsealError, fingerprint, seal, unseal

KEY = bytes(range(32))
PLACE = ("connection", "secret_key", "acct_1", "test")
SECRET = "sk_" + "test_" + "a" * 24


def test_what_was_sealed_opens_in_its_place() -> None:
    assert unseal(KEY, seal(KEY, SECRET, *PLACE), *PLACE) == SECRET


@given(text=st.text(), place=st.lists(st.text(), max_size=4))
def test_any_text_opens_in_any_place_that_it_was_sealed_for(text: str, place: list[str]) -> None:
    assert unseal(KEY, seal(KEY, text, *place), *place) == text


def test_the_plaintext_is_not_in_the_ciphertext_and_no_two_are_alike() -> None:
    first, second = seal(KEY, SECRET, *PLACE), seal(KEY, SECRET, *PLACE)
    assert first != second
    assert SECRET.encode() not in first


def test_another_key_opens_nothing() -> None:
    with pytest.raises(UnsealError):
        unseal(bytes(32), seal(KEY, SECRET, *PLACE), *PLACE)


@pytest.mark.parametrize("part", range(4))
def test_a_ciphertext_moved_to_another_table_column_or_row_opens_nothing(part: int) -> None:
    moved = tuple(f"{text}x" if n == part else text for n, text in enumerate(PLACE))
    with pytest.raises(UnsealError):
        unseal(KEY, seal(KEY, SECRET, *PLACE), *moved)


def test_the_borders_between_the_parts_of_a_place_count() -> None:
    with pytest.raises(UnsealError):
        unseal(KEY, seal(KEY, SECRET, "ab", "c"), "a", "bc")


def test_every_changed_byte_is_noticed() -> None:
    sealed = seal(KEY, SECRET, *PLACE)
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(UnsealError):
            unseal(KEY, changed, *PLACE)


@pytest.mark.parametrize("length", [0, 1, 12, 13, 20])
def test_a_ciphertext_that_was_cut_off_opens_nothing(length: int) -> None:
    with pytest.raises(UnsealError):
        unseal(KEY, seal(KEY, SECRET, *PLACE)[:length], *PLACE)


def test_a_fingerprint_is_the_same_for_the_same_secret_only() -> None:
    assert fingerprint(SECRET) == fingerprint(SECRET)
    assert fingerprint(SECRET) != fingerprint(SECRET + "b")
    assert len(fingerprint(SECRET)) == 16
    assert SECRET[-4:] not in fingerprint(SECRET)
