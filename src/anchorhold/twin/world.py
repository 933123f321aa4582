"""`Twin`: a Stripe in memory, with its own clock, ids and faults.

Synchronous and without I/O: a request goes in, an answer comes out. Nothing happens between
requests but what is due: late executions, bank debits, disputes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from anchorhold.twin.breaking import meet
from anchorhold.twin.clock import Seconds, WallClock
from anchorhold.twin.desk import Desk
from anchorhold.twin.faults import Faults, Rule
from anchorhold.twin.ids import Ids
from anchorhold.twin.journal import Entry
from anchorhold.twin.keyring import ApiKey, Keyring, KeyState
from anchorhold.twin.routes import match
from anchorhold.twin.settings import Settings
from anchorhold.twin.state import Account, Call
from anchorhold.twin.wire import Broken, Obj, Request, Response

SECRET_KEY = "sk_test_twin"  # noqa: S105 - the twin's own, worth nothing anywhere else
PUBLISHABLE_KEY = "pk_test_twin"
ACCOUNT = "acct_twin"


def account_of(seed: int | str) -> str:
    """A Stripe account of its own for this seed: what another twin made is not found in it."""
    return f"{ACCOUNT}_{seed}"


Listener = Callable[[Account, Obj], None]
"""Told of every event as it is made."""
Resender = Callable[[Account, Obj, str | None], None]
"""Asked to deliver an event again: to one webhook endpoint, or to all that want it."""


@dataclass(order=True, slots=True)
class _Due:
    at: float
    number: int
    act: Callable[[float], object] = field(compare=False)
    late_request: bool = field(compare=False, default=False)


class Twin:
    """Stripe, as far as it is simulated. `seed` decides ids and faults, `clock` the time.

    It opens one test-mode account, `account`, with `SECRET_KEY` and `PUBLISHABLE_KEY`.
    """

    def __init__(
        self,
        *,
        seed: int | str = 0,
        clock: Seconds | None = None,
        settings: Settings | None = None,
        faults: Iterable[Rule] = (),
        account: str = ACCOUNT,
    ) -> None:
        self.settings = settings or Settings()
        self.clock: Seconds = clock or WallClock()
        self.ids = Ids(seed)
        self.faults = Faults(faults, seed)
        self.accounts: list[Account] = []
        self.keyring = Keyring(self.accounts)
        self.requests: list[Entry] = []
        self.listeners: list[Listener] = []
        self.resenders: list[Resender] = []
        self.desk = Desk(self.keyring, self._call, self.now)
        self._due: list[_Due] = []
        self._scheduled = 0
        self._now: float | None = None
        self.open_account(account, SECRET_KEY, PUBLISHABLE_KEY)

    def open_account(
        self,
        id_: str,
        *keys: str,
        country: str = "US",
        livemode: bool = False,
        platform: str | None = None,
    ) -> Account:
        """A new, empty account that these keys open; live and test mode are two accounts.

        With a `platform` it is connected to that account, whose keys open it under the header
        `Stripe-Account`.
        """
        account = Account(id_, self.settings, livemode=livemode, country=country, platform=platform)
        self.accounts.append(account)
        for secret in keys:
            self.keyring.add(ApiKey(secret, account))
        return account

    def account(self, id_: str | None = None) -> Account:
        """The account with this id, or the first one; KeyError when there is none."""
        if id_ is None:
            return self.accounts[0]
        for account in self.accounts:
            if account.id == id_:
                return account
        raise KeyError(id_)

    def add_key(
        self,
        secret: str,
        account: Account | None = None,
        *,
        state: KeyState = KeyState.VALID,
        denied: Iterable[str] = (),
    ) -> ApiKey:
        """Register a key, or change one: expired, revoked, or denied some endpoints."""
        owner = account or self.accounts[0]
        return self.keyring.add(ApiKey(secret, owner, state, tuple(denied)))

    def now(self) -> float:
        """The twin's time: its clock's, or the due time of what is being carried out late."""
        return self.clock() if self._now is None else self._now

    def handle(self, request: Request) -> Response:
        """The answer of a Stripe without faults."""
        self.run_due()
        return self.desk.answer(request, self._enter(request))

    def send(self, request: Request) -> Response | Broken:
        """What a client meets that sends this: an answer, or a broken connection."""
        self.run_due()
        entry = self._enter(request)
        rule = self._fault(request)
        if rule is None:
            return self.desk.answer(request, entry)
        entry.fault = rule.kind
        return meet(self, request, entry, rule)

    def _fault(self, request: Request) -> Rule | None:
        if not self.faults:
            return None
        found = match(request.method, request.path)
        template = found.endpoint.template if found is not None else request.path
        authorization = request.header("authorization") or ""
        secret = authorization.partition(" ")[2]
        key = self.keyring.get(secret)
        own = key.account.id if key is not None else None
        account = request.header("stripe-account") or own
        return self.faults.pick(request.method, template, account, secret)

    def _enter(self, request: Request) -> Entry:
        key = request.header("idempotency-key") if request.method == "POST" else None
        entry = Entry(
            number=len(self.requests) + 1,
            at=self.now(),
            method=request.method,
            path=request.path,
            request_id=self.ids.short("req"),
            idempotency_key=key,
        )
        self.requests.append(entry)
        return entry

    def _call(self, account: Account, entry: Entry | None = None) -> Call:
        return Call(
            account=account,
            settings=self.settings,
            ids=self.ids,
            now=int(self.now()),
            later=lambda seconds, act: self._later(account, seconds, act),
            announce=self._announce,
            resend=self._resend,
            request_id=entry.request_id if entry is not None else None,
            key=entry.idempotency_key if entry is not None else None,
        )

    def act(self, account: str | None = None) -> Call:
        """A call that is nobody's request, for what customers and banks do (see `acts`)."""
        self.run_due()
        return self._call(self.accounts[0] if account is None else self.account(account))

    def _announce(self, account: Account, event: Obj) -> None:
        for listener in self.listeners:
            listener(account, event)

    def _resend(self, account: Account, event: Obj, endpoint: str | None) -> None:
        for resender in self.resenders:
            resender(account, event, endpoint)

    def _later(self, account: Account, seconds: float, act: Callable[[Call], object]) -> None:
        self._schedule(seconds, lambda _at: act(self._call(account)))

    def _schedule(
        self, seconds: float, act: Callable[[float], object], *, late_request: bool = False
    ) -> None:
        self._scheduled += 1
        due = _Due(self.now() + seconds, self._scheduled, act, late_request)
        heappush(self._due, due)

    def postpone(self, request: Request, entry: Entry, seconds: float) -> None:
        """Execute the request so many seconds from now, its key and its object held until then."""
        release = self.desk.reserve(request, entry)

        def act(_at: float) -> None:
            release()
            self.desk.answer(request, entry)

        self._schedule(seconds, act, late_request=True)

    def reconcile(self, request: Request, entry: Entry, seconds: float) -> None:
        """Execute the request so many seconds from now, beside its key."""
        self._schedule(seconds, lambda _at: self.desk.carry_out(request, entry), late_request=True)

    def next_due(self) -> float | None:
        """When something is due that no request causes, in seconds of the clock."""
        return self._due[0].at if self._due else None

    def run_due(self) -> int:
        """Carry out all that is due by now, each at its own time; how many there were."""
        done = 0
        while self._due and self._due[0].at <= self.clock():
            self._carry_out(heappop(self._due))
            done += 1
        return done

    def run_late(self) -> int:
        """Execute every late request now, whenever it was due; how many there were."""
        late = sorted(due for due in self._due if due.late_request)
        self._due = [due for due in self._due if not due.late_request]
        self._due.sort()
        for due in late:
            due.at = self.clock()
            self._carry_out(due)
        return len(late)

    def _carry_out(self, due: _Due) -> None:
        self._now = due.at
        try:
            due.act(due.at)
        finally:
            self._now = None
