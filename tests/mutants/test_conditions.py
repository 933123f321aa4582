"""Each condition of a statement is found once, whole, and nothing else is dropped."""

from tests.mutants.conditions import Dropped, all_dropped, conditions
from tests.store.statements import Statement, statements

ALL = list(all_dropped())


def dropped(sql: str) -> list[str]:
    return [" ".join(sql[start:end].split()) for start, end in conditions(sql)]


def test_a_condition_ends_where_the_next_begins_or_the_clause_does() -> None:
    assert dropped("SELECT 1 FROM t WHERE a = 1 AND b = (2) AND c IN (3, 4) ORDER BY a") == [
        "AND b = (2)",
        "AND c IN (3, 4)",
    ]
    assert dropped("WITH x AS (SELECT 1 FROM t WHERE a AND b = 2), y AS (SELECT 1)") == [
        "AND b = 2"
    ]


def test_a_condition_in_brackets_is_dropped_as_a_whole_and_in_its_parts() -> None:
    assert dropped("WHERE a AND (b = 1 AND (c OR d)) FOR UPDATE") == [
        "AND (b = 1 AND (c OR d))",
        "AND (c OR d)",
    ]


def test_the_and_of_a_between_is_no_condition() -> None:
    assert dropped("WHERE a BETWEEN 1 AND 2 AND b") == ["AND b"]


def test_a_comparison_with_what_may_be_nothing_is_one_condition() -> None:
    assert dropped("WHERE a AND b IS DISTINCT FROM c AND d") == [
        "AND b IS DISTINCT FROM c",
        "AND d",
    ]


def test_words_in_quotes_end_nothing() -> None:
    assert dropped("WHERE a AND b = 'this AND that' AND c") == ["AND b = 'this AND that'", "AND c"]


def test_conditions_on_account_and_mode_are_left_to_their_own_test() -> None:
    assert not [one for one in ALL if one.text.startswith(("AND livemode =", "AND i.livemode ="))]


def test_the_writes_of_the_hold_have_conditions_to_drop() -> None:
    functions = {one.statement.function for one in ALL}
    assert {"holds.claim", "holds.recheck", "holds.end", "checks.keep"} <= functions
    assert len({one.name for one in ALL}) == len(ALL)


def test_a_mutant_changes_its_own_statement_alone() -> None:
    mutant = next(one for one in ALL if one.statement.function == "holds.recheck")
    others = [one.sql for one in statements() if one != mutant.statement]
    assert mutant.of(mutant.statement.sql) == mutant.sql != mutant.statement.sql
    assert [sql for sql in others if mutant.of(sql) != sql] == []


def test_a_condition_that_stands_twice_is_dropped_where_it_stands() -> None:
    statement = Statement(
        "a.b", "SELECT 1 FROM t WHERE a AND b UNION SELECT 1 FROM u WHERE c AND b"
    )
    second = Dropped(statement, 2, statement.sql.rindex("AND b"), len(statement.sql))
    assert second.of(statement.sql) == statement.sql[: -len("AND b")]
