"""A stateful Stripe with faults, in memory and over HTTP, for testing Stripe integrations.

`Twin().send(Request(...))` answers as Stripe does; `server.serve` puts the same over HTTP. Usable
alone: it imports nothing else of this project.
"""

from anchorhold.twin.clock import Clock
from anchorhold.twin.faults import FaultKind, Faults, Rule, rule_from_json, rule_from_text
from anchorhold.twin.instruments import BY_LITERAL
from anchorhold.twin.keyring import ApiKey, KeyState
from anchorhold.twin.settings import API_VERSION, ClockTime, GoneCustomer, Settings
from anchorhold.twin.wire import Break, Broken, Request, Response
from anchorhold.twin.world import ACCOUNT, PUBLISHABLE_KEY, SECRET_KEY, Twin, account_of

__all__ = [
    "ACCOUNT",
    "API_VERSION",
    "BY_LITERAL",
    "PUBLISHABLE_KEY",
    "SECRET_KEY",
    "ApiKey",
    "Break",
    "Broken",
    "Clock",
    "ClockTime",
    "FaultKind",
    "Faults",
    "GoneCustomer",
    "KeyState",
    "Request",
    "Response",
    "Rule",
    "Settings",
    "Twin",
    "account_of",
    "rule_from_json",
    "rule_from_text",
]
