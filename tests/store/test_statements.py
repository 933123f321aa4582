"""Every statement of the store fits the migrated schema."""

import psycopg
import pytest

from tests.store.reads import UNSCOPED
from tests.store.statements import Statement, statements

ALL = list(statements())


def test_the_store_has_statements() -> None:
    assert len(ALL) > 20


@pytest.mark.parametrize("statement", ALL, ids=lambda statement: statement.function)
def test_postgresql_prepares_it(statement: Statement, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(f"PREPARE it AS {statement.numbered}".encode())


@pytest.mark.parametrize("statement", ALL, ids=lambda statement: statement.function)
def test_it_compares_account_and_mode_unless_it_is_about_accounts(statement: Statement) -> None:
    if statement.function not in {"accounts.create", "accounts.set_modes", *UNSCOPED}:
        assert "%(account_id)s" in statement.sql
        assert "%(livemode)s" in statement.sql


@pytest.mark.parametrize("statement", ALL, ids=lambda statement: statement.function)
def test_it_compares_account_and_mode_of_each_table(statement: Statement) -> None:
    """By the table's alias, by USING, or alone where there is no alias."""
    if statement.function in {"accounts.create", "accounts.set_modes", *UNSCOPED}:
        return
    joined = statement.sql.count("USING (account_id, livemode")
    ours = {"account"} if "account.id = " in statement.sql else set()  # it has no mode
    named = {
        table
        for table in statement.tables
        if f"{table}.account_id" in statement.sql and f"{table}.livemode" in statement.sql
    }
    assert len(statement.tables - named - ours) <= joined + statement.sql.count(" account_id = %(")
