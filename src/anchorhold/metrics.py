"""What `/metrics` shows, in Prometheus' words: what this process did, and how the rows stand.

Counters are this process's own. Gauges about rows are read when somebody asks, at most every
`FRESH_S` seconds however many ask, and are left out when the database does not answer: an old
number would look like a fact.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

import psycopg
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from anchorhold.domain.answer import NothingSent, Refused, Result, Shown, Unclear
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.timing import Timing
from anchorhold.engine.charge import Charged
from anchorhold.engine.sweep import Swept
from anchorhold.entropy import wall_clock
from anchorhold.providers import Wires
from anchorhold.store import metrics as rows
from anchorhold.store.db import Db
from anchorhold.store.metrics import Readings
from anchorhold.stripe.breaker import BreakerState

disable_created_metrics()  # twice as many series, for when each began

FRESH_S: Final = 10.0
"""So long the readings of the database are shown again."""
ANSWER_S: Final = 3.0
"""A database that is slower than this does not answer."""
SECONDS: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 15, 30, 60)
"""Buckets of calls to Stripe: most take a third of a second, and 30 is a charge's deadline."""


class Meters:
    """What this process did; one per process. Each method counts one thing."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._attempts = Counter(
            "anchorhold_attempts",
            "Charges that came to an end in this process, by how, why and what was saved.",
            ("end", "meaning", "rule"),
            registry=self.registry,
        )
        self._checks = Counter(
            "anchorhold_checks",
            "Checks of stale holds that this process made, by the row that decided.",
            ("rule",),
            registry=self.registry,
        )
        self._stopped = Counter(
            "anchorhold_sweeps_stopped",
            "Sweeps that ended before every hold had its check, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self._calls = Counter(
            "anchorhold_stripe_calls",
            "Requests sent to Stripe, by endpoint and class of answer.",
            ("endpoint", "answer"),
            registry=self.registry,
        )
        self._latency = Histogram(
            "anchorhold_stripe_call_seconds",
            "How long requests to Stripe took, without the wait for the rate limit.",
            ("endpoint",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._tick_end = Gauge(
            "anchorhold_tick_last_end_timestamp_seconds",
            "When this process last came to the end of a tick; 0 before.",
            registry=self.registry,
        )
        self._tick_took = Gauge(
            "anchorhold_tick_duration_seconds",
            "How long this process's last tick took.",
            registry=self.registry,
        )

    def charged(self, charged: Charged) -> None:
        """A charge ended; `kept` is a hold that was left to the sweep."""
        self._attempts.labels(charged.saved or "kept", charged.meaning.value, charged.rule).inc()

    def swept(self, swept: Swept) -> None:
        """A sweep ended."""
        for rule, count in swept.rows.items():
            self._checks.labels(rule).inc(count)
        if swept.stopped is not None:
            self._stopped.labels(swept.stopped.name.lower()).inc()

    def ticked(self, seconds: float) -> None:
        """A tick of all accounts ended, after so many seconds."""
        self._tick_end.set(wall_clock().timestamp())
        self._tick_took.set(seconds)

    def called(self, endpoint: str, result: Result[object], seconds: float) -> None:
        """A request to Stripe ended like this; `endpoint` is `get /v1/refunds/{}`, say."""
        method, _, path = endpoint.replace("{}", "{id}").partition(" ")
        endpoint = f"{method.upper()} {path}"
        self._calls.labels(endpoint, answer_class(result)).inc()
        self._latency.labels(endpoint).observe(seconds)


def answer_class(result: Result[object]) -> str:
    """How a call ended, in one of few words: 402 and 429 stand apart from other refusals."""
    match result:
        case Shown():
            return "2xx"
        case Refused(status=402 | 429 as status):
            return str(status)
        case Refused(status=status):
            return f"{status // 100}xx"
        case NothingSent():
            return "not_sent"
        case Unclear():
            return "unclear"


def _gauge(name: str, says: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"anchorhold_{name}", says, value=value)


def _gauges(name: str, says: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"anchorhold_{name}", says, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def of_rows(seen: Readings) -> Iterator[GaugeMetricFamily]:
    """How the rows stand."""
    holds = seen.holds
    yield _gauges(
        "parked_invoices",
        "Parks that are still there after ANCHORHOLD_PARKED_ALARM_SECONDS.",
        "disposition",
        {"open": holds.overdue_parks_open, "written_off": holds.overdue_parks_written_off},
    )
    yield _gauge(
        "parked_invoices_without_hold",
        "Unclear invoices without a hold, which nobody looks at.",
        seen.parks_without_hold,
    )
    lanes = {"live": holds.live, "confirming": holds.confirming, "parked": holds.parked}
    yield _gauges("holds", "Holds, by lane.", "lane", lanes)
    yield _gauges(
        "oldest_hold_age_seconds",
        "Seconds since the end of the oldest hold of a lane.",
        "lane",
        {"confirming": holds.oldest_confirming_s, "parked": holds.oldest_parked_s},
    )
    yield _gauge(
        "overdue_holds",
        "Holds that are no park and ended over ANCHORHOLD_HOLD_ALARM_SECONDS ago.",
        holds.overdue,
    )
    yield _gauge("followed_invoices", "Invoices that follow a PaymentIntent.", seen.followed)
    notices = {row.code: float(row.waiting) for row in seen.notices}
    yield _gauges("open_notices", "Facts that wait for a person, by code.", "code", notices)
    yield _gauge("connected_accounts", "Accounts and modes with a key.", seen.connections.connected)
    yield _gauge(
        "flagged_accounts",
        "Accounts and modes that are not charged, because Stripe refuses their key.",
        seen.connections.flagged,
    )
    yield _gauge(
        "recovering_accounts",
        "Accounts and modes that are not charged until a recovery has ended.",
        seen.connections.recovering,
    )
    yield _gauge("jobs_waiting", "Jobs that are due and not begun.", seen.jobs_waiting)


class Exposition(Collector):
    """The text of `/metrics` for one process; `wires` is None where nothing is sent to Stripe."""

    def __init__(self, db: Db, timing: Timing, meters: Meters, wires: Wires) -> None:
        self._db = db
        self._timing = timing
        self._meters = meters
        self._wires = wires
        self._seen: Readings | None = None
        self._read_at = float("-inf")
        self._lock = asyncio.Lock()
        meters.registry.register(self)

    async def text(self) -> bytes:
        """In the text format of Prometheus, version 0.0.4."""
        async with self._lock:
            now = self._db.monotonic()
            if now - self._read_at >= FRESH_S:
                self.show(await self._read())
                self._read_at = now
        return generate_latest(self._meters.registry)

    def show(self, seen: Readings | None) -> None:
        """The rows stand like this; None: the database did not answer."""
        self._seen = seen

    async def _read(self) -> Readings | None:
        try:
            async with asyncio.timeout(ANSWER_S):
                return await rows.read(self._db, self._timing)
        except (psycopg.Error, Refusal, TimeoutError):
            return None

    @override
    def collect(self) -> Iterator[GaugeMetricFamily]:
        """What is read at the moment of asking."""
        breaker = self._wires.breaker.view()
        states = {state.value: float(state is breaker.state) for state in BreakerState}
        yield _gauges(
            "breaker_state", "1 for the state of this process's breaker.", "state", states
        )
        yield _gauge("breaker_failures", "Unreached calls in a row.", breaker.failures)
        yield _gauge(
            "limiter_waiting", "Calls that wait for the rate limit.", self._wires.limiter.waiting
        )
        yield _gauge("database_up", "1 when the database answered.", self._seen is not None)
        if self._seen is not None:
            yield from of_rows(self._seen)
