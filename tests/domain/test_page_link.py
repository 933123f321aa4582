"""Tokens of links: each opens its own place, and nobody makes one up."""

from hypothesis import given
from hypothesis import strategies as st

from anchorhold.domain.ids import ACCOUNT, ENTROPY_BYTES, PAGE_LINK, make
from anchorhold.domain.page_link import Place, read_token, token_of
from anchorhold.domain.scope import Scope

KEY = bytes(range(32))
IDS = st.tuples(st.integers(0, (1 << 48) - 1), st.binary(min_size=10, max_size=ENTROPY_BYTES))


def place_of(account: tuple[int, bytes], link: tuple[int, bytes], livemode: bool) -> Place:
    return Place(Scope(make(ACCOUNT, *account), livemode), make(PAGE_LINK, *link))


PLACES = st.builds(place_of, IDS, IDS, st.booleans())


@given(place=PLACES)
def test_a_token_opens_the_place_it_was_made_for(place: Place) -> None:
    token = token_of(KEY, place)
    assert read_token(KEY, token) == place
    assert token == token_of(KEY, place), "the same link always has the same address"
    assert token.replace("-", "").replace("_", "").isalnum()


@given(place=PLACES, at=st.integers(0, 86), letter=st.sampled_from("AZaz09-_"))
def test_one_other_letter_opens_nothing_else(place: Place, at: int, letter: str) -> None:
    token = token_of(KEY, place)
    other = token[:at] + letter + token[at + 1 :]
    assert read_token(KEY, other) in (None, place)
    if at < 86:
        assert (read_token(KEY, other) == place) is (other == token)


@given(place=PLACES)
def test_another_key_opens_nothing(place: Place) -> None:
    assert read_token(bytes(32), token_of(KEY, place)) is None


@given(text=st.text())
def test_whatever_is_asked_for_is_answered(text: str) -> None:
    assert read_token(KEY, text) is None
    assert read_token(KEY, (text * 87)[:87]) is None
