"""A CSV file of invoices: each of its rows is ready to be taken in, or named as bad.

UTF-8, columns separated by commas and named in the first line, in any order. Amounts are plain
decimals, read exactly. `reference` is the user's own name of an invoice, `customer` of a customer;
a Stripe customer is given by its Stripe id.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, Protocol

from anchorhold.domain.ids import CUSTOMER
from anchorhold.domain.money import Money
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store.invoices import NewInvoice

REQUIRED: Final = ("customer", "amount", "currency", "due_date", "reference")
"""Columns that the file must have, and no row may leave empty."""

OPTIONAL: Final = ("email", "payment_method")
"""Columns that the file may leave out, or a row empty."""

TEXT_MAX: Final = 255
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_METHOD: Final = re.compile(r"(pm|card|src|ba)_\w+", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:.*", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Also the ones that steer a terminal with one character, break a line or turn text around."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be imported: its first line in the file, the column, and why."""

    line: int
    column: str
    reason: str


@dataclass(slots=True)
class Judged:
    """What a file holds: rows to take in, and rows that cannot be."""

    rows: list[NewInvoice] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)


class _WrongError(Exception):
    """A value that cannot be used, in this column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def judge(lines: Iterable[str], path: str) -> Judged:
    """Every row of the file is either ready to be taken in or named as bad.

    Refuses the whole file when its first line does not name the columns
    (IMPORT_COLUMNS_MISSING, IMPORT_COLUMN_UNKNOWN) or it is no CSV (IMPORT_FILE_UNREADABLE).
    """
    reader = csv.reader(lines, strict=True)
    judged = Judged()
    seen = _Seen()
    try:
        columns = _columns(next(reader, []), path)
        for line, values in _records(reader):
            try:
                row = _row(columns, values)
                seen.require_agreement(row, line)
                judged.rows.append(row)
            except _WrongError as wrong:
                judged.bad.append(BadRow(line, wrong.column, str(wrong)))
    except csv.Error as error:
        reason = f"line {reader.line_num}: {error}"
        raise Refusal(Code.IMPORT_FILE_UNREADABLE, path=path, reason=reason) from error
    return judged


def _columns(header: list[str], path: str) -> list[str]:
    """The names in the first line, each known and there once, none missing that is required."""
    names = [name.strip().lower() for name in header]
    if len(names) == 1 and re.search(r"[;\t|]", names[0]):
        reason = "its columns are not separated by commas"
        raise Refusal(Code.IMPORT_FILE_UNREADABLE, path=path, reason=reason)
    for name in names:
        if name not in REQUIRED + OPTIONAL:
            raise _unknown(name, path)
        if names.count(name) > 1:
            reason = f"it has the column {name} twice"
            raise Refusal(Code.IMPORT_FILE_UNREADABLE, path=path, reason=reason)
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise Refusal(Code.IMPORT_COLUMNS_MISSING, path=path, columns=", ".join(missing))
    return names


def _unknown(name: str, path: str) -> Refusal:
    near = get_close_matches(name, REQUIRED + OPTIONAL, n=1)
    known = ", ".join(REQUIRED + OPTIONAL)
    suggestion = f"perhaps {near[0]} was meant" if near else f"it may have {known}"
    return Refusal(
        Code.IMPORT_COLUMN_UNKNOWN, path=path, column=repr(name[:40]), suggestion=suggestion
    )


class _Reader(Protocol):
    """What the standard library's CSV reader is."""

    @property
    def line_num(self) -> int:
        """The line that was read last."""
        ...

    def __iter__(self) -> Iterator[list[str]]:
        """The records that are left."""
        ...


def _records(reader: _Reader) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it begins on; a record of quoted text may have several lines."""
    begins = reader.line_num + 1
    for values in reader:
        if values:
            yield begins, values
        begins = reader.line_num + 1


def _row(columns: list[str], values: list[str]) -> NewInvoice:
    if len(values) != len(columns):
        at = columns[min(len(values), len(columns) - 1)]
        raise _WrongError(at, f"the row has {len(values)} values for {len(columns)} columns")
    given = {name: _text(name, value) for name, value in zip(columns, values, strict=True)}
    amount = _amount(given["amount"], given["currency"])
    return NewInvoice(
        reference=given["reference"],
        customer=_customer(given["customer"]),
        email=_matching("email", given.get("email", ""), _EMAIL, "an e-mail address"),
        payment_method=_matching(
            "payment_method", given.get("payment_method", ""), _METHOD, "a Stripe payment method"
        ),
        amount=amount.minor,
        currency=amount.currency,
        due_at=_due(given["due_date"]),
    )


def _text(column: str, value: str) -> str:
    text = value.strip()
    if not text and column in REQUIRED:
        raise _WrongError(column, "it is empty")
    if len(text) > TEXT_MAX:
        raise _WrongError(column, f"it has more than {TEXT_MAX} characters")
    if _CONTROL.search(text):
        raise _WrongError(column, "it has a control character")
    return text


def _customer(text: str) -> str:
    """The user's own reference, or a Stripe id; never an id of ours, which would make another."""
    try:
        CUSTOMER.parse(text)
    except Refusal:
        return text
    raise _WrongError("customer", "it is an id of Anchorhold's; give your own reference of it")


def _matching(column: str, text: str, pattern: re.Pattern[str], what: str) -> str | None:
    if text and pattern.fullmatch(text) is None:
        raise _WrongError(column, f"'{text[:60]}' is not {what}")
    return text or None


def _amount(text: str, currency: str) -> Money:
    """An amount that Stripe charges (its page "Supported currencies": minimum and maximum)."""
    try:
        money = Money.parse(text, currency)
        money.require_chargeable()
    except Refusal as refusal:
        column = "currency" if refusal.code is Code.CURRENCY_UNKNOWN else "amount"
        raise _WrongError(column, refusal.sentence) from refusal
    return money


def _due(text: str) -> datetime:
    """A date is midnight UTC; a time of day needs its offset, and a year from 1 to 9999 in UTC."""
    form = "2026-12-31 or 2026-12-31T09:00:00+01:00"
    no_date = _WrongError("due_date", f"'{text[:40]}' is not a date like {form}")
    if not _DATE.fullmatch(text) and not _TIME.fullmatch(text):
        raise no_date
    try:
        at = datetime.fromisoformat(text)
        if _DATE.fullmatch(text):
            return at.replace(tzinfo=UTC)
        # What Python cannot say in UTC it could not read back from the database.
        at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise no_date from None
    if at.tzinfo is None:
        raise _WrongError("due_date", f"'{text}' has a time of day and no offset from UTC")
    return at


@dataclass(slots=True)
class _Seen:
    """What earlier rows said, to find rows that contradict each other."""

    references: dict[str, int] = field(default_factory=dict)
    customers: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    def require_agreement(self, row: NewInvoice, line: int) -> None:
        """The reference is new, and e-mail and payment method are those its customer had before."""
        if row.reference in self.references:
            before = self.references[row.reference]
            raise _WrongError("reference", f"'{row.reference}' is on line {before} too")
        for column, value in (("email", row.email), ("payment_method", row.payment_method)):
            if value is not None:
                self._require_same(row.customer, column, value, line)
        self.references[row.reference] = line

    def _require_same(self, customer: str, column: str, value: str, line: int) -> None:
        first, at = self.customers.setdefault((customer, column), (value, line))
        if first != value:
            reason = f"customer {customer} has '{first}' on line {at}"
            raise _WrongError(column, reason)
