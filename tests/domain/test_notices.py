"""What a person is told about a notice, also one that no table knows."""

from anchorhold.domain.notices import NOTICES, Ends, Weight, about


def test_a_notice_is_told_by_its_row() -> None:
    assert [about(row.code) for row in NOTICES] == list(NOTICES)


def test_a_notice_that_no_row_knows_is_told_as_it_is_stored() -> None:
    row = about("some_thing.went_wrong")
    assert (row.code, row.happened) == ("some_thing.went_wrong", "Some thing went wrong.")
    assert (row.weight, row.to_do) == (Weight.TASK, "Look at its evidence.")
    assert (row.ends, row.because) == (frozenset({Ends.WORDS}), "it needs a decision")
