"""A world: one account with a few invoices, a Stripe of its own, and a clock for both.

It lives in rows of its own account, so worlds share one database and nothing is cleared between
them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from anchorhold.domain.account import SweepMode
from anchorhold.domain.ids import ACCOUNT, InvoiceId, derive
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.deps import Connected, Deps
from anchorhold.sim import warm
from anchorhold.sim.db import WorldDb
from anchorhold.sim.ground import Ground
from anchorhold.sim.provider import Leaving, WorldProvider, real_client
from anchorhold.sim.scheduler import Work
from anchorhold.sim.setting import Setting
from anchorhold.sim.shield import Shield
from anchorhold.sim.statements import statement
from anchorhold.sim.turns import Asked, Fate
from anchorhold.sim.warm import Template
from anchorhold.store import accounts, customers, invoices
from anchorhold.store.accounts import NewConnection
from anchorhold.store.invoices import NewInvoice
from anchorhold.twin import Request, Twin
from anchorhold.twin.clock import Clock
from anchorhold.twin.settings import Settings
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT

BEGINS = 1_790_000_000.0
"""When every world begins, in seconds since 1970."""
DEBIT_S = 4 * 86_400
CALL_S = 0.3
AMOUNT = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a world's story: how many seconds after its beginning, who, and what."""

    at: float
    who: str
    what: str


class World:
    """One setting's account, Stripe and clock."""

    def __init__(
        self,
        ground: Ground,
        setting: Setting,
        leaving: Leaving,
        *,
        template: Template | None = None,
    ) -> None:
        self.setting = setting
        self.ground = ground
        self.clock = Clock(template.at if template else BEGINS)
        self.db = WorldDb(ground, self.clock, Random(f"ids:{setting.seed}"))  # noqa: S311 - repeatable, not secret
        twin_seed = template.twin_seed if template else str(setting.seed)
        self.twin = Twin(seed=twin_seed, clock=self.clock, settings=Settings(debit_s=DEBIT_S))
        account = (
            warm.account_of(ground, template)
            if template
            else derive(ACCOUNT, "world", ground.number())
        )
        self.scope = Scope(account, livemode=False)
        self.timing = Timing()
        self.rows: set[str] = set()
        self.story: list[Line] = []
        self.invoices: list[InvoiceId] = []
        self.connected = True
        self.denied = ("GET /v1/events*",) if setting.deaf else ()
        """What the key may not ask for, ever."""
        self.secrets: list[tuple[InvoiceId, str, str]] = []
        """What pages have handed out, for ever: the invoice, its intent, the secret."""
        self.shields: dict[str, Shield] = {}
        """By process: what must come to its end although the process is cancelled."""
        self.alarms: set[str] = set()
        """Invoices that a person was called for, by S15, since this was emptied."""
        self.requests: list[Request] = []
        """Everything that the client has sent."""
        self._pace = Random(f"pace:{setting.seed}")  # noqa: S311 - the same
        client = real_client(self.twin, self.clock, leaving, self.requests)
        provider: Any = WorldProvider(
            client,
            self.rows,
            lambda: self._passes(CALL_S),
            SweepMode(setting.mode.columns["sweep_mode"]),
        )
        self._connected = Connected(provider, STRIPE_ACCOUNT, "fingerprint")
        if template is not None:
            warm.tell_stripe(self.twin, template, self.scope.account_id)
            self.invoices += [InvoiceId(one) for one in template.invoices]

    def invoice(self, number: int) -> InvoiceId:
        """One of the world's invoices."""
        return self.invoices[number % len(self.invoices)]

    def deps(self, actor: str) -> Deps:
        """What a process of this name works with."""
        shield = self.shields.setdefault(actor, Shield())
        return Deps(self.db, self, self.timing, self, actor, apart=shield)

    async def of(self, scope: Scope) -> Connected | None:
        """`Providers.of`: the world's only account."""
        assert scope == self.scope
        return self._connected if self.connected else None

    def info(self, event: str, **facts: object) -> None:
        """`Log.info`: nobody listens."""

    def error(self, event: str, **facts: object) -> None:
        """`Log.error`: a person would be called."""
        if event == "sweep.refused":
            self.alarms.add(str(facts["invoice"]))
        self.tell("log", f"{event} {facts.get('error') or facts.get('reason') or ''}".rstrip())

    def tell(self, who: str, what: str) -> None:
        """The next line of the story."""
        self.story.append(Line(self.clock() - BEGINS, who, what))

    def later(self, seconds: float) -> None:
        """It is so much later, here and at Stripe."""
        self.clock.advance(seconds)
        self.twin.run_due()

    def let_go(self) -> None:
        """It is over: what refers to each other is not left to the garbage collector."""
        self.db.seen = None
        vars(self.twin).clear()
        vars(self).clear()

    def _passes(self, seconds: float) -> None:
        self.clock.advance(seconds * self._pace.choice((0.5, 1, 1, 2)))

    async def begin(self) -> None:
        """The account is connected and has one open invoice for each of the setting's cards."""
        methods = self.setting.methods
        await accounts.create(self.db, self.scope.account_id, self.scope.account_id)
        mode = {**self.setting.mode.columns, "account_id": self.scope.account_id}
        self.db.execute(statement("mode"), mode)
        types = ("card", "sepa_debit")
        new = NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint", types)
        await accounts.connect(self.db, self.scope, new)
        due = datetime.fromtimestamp(BEGINS, UTC) - timedelta(days=1)
        rows = [
            NewInvoice(f"R{n}", f"customer {n}", None, method, AMOUNT + n, "eur", due)
            for n, method in enumerate(methods)
        ]
        taken = await invoices.take_in(self.db, self.scope, rows, actor="import")
        for row in sorted(taken, key=lambda one: one.reference):
            self.invoices.append(row.id)
            await customers.begin(
                self.db,
                self.scope,
                row.customer_id,
                params={"metadata": {"reference": row.reference}},
                stripe_customer_id=None,
                payment_method=methods[int(row.reference[1:])],
            )


def finished(world: World, work: Work) -> object:
    """The end of a coroutine that nobody interrupts."""
    heard: Any = None
    try:
        while True:
            found = work.send(heard)
            heard = world.ground.answer(found) if isinstance(found, Asked) else Fate.GOES_ON
    except StopIteration as done:
        return done.value
