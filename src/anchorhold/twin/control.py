"""`/_twin/…`: the tester's own paths, JSON in and out. Nothing of them is Stripe's.

| path | what it does |
|---|---|
| GET  /_twin/                       | this table, as JSON |
| GET  /_twin/ledger?by=KEY&account= | intents, charges, refunds, successes per metadata value |
| GET  /_twin/requests?after=N       | the request log, from the entry after number N |
| GET  /_twin/faults                 | the rules, with how often each was met |
| POST /_twin/faults                 | `{"rules": [...], "seed": 1}` replaces them; `[]` ends all |
| GET  /_twin/clock                  | the time in seconds, and what is due next |
| POST /_twin/clock                  | `{"advance": 3600}` moves it forward; what is due happens |
| GET  /_twin/keys                   | the API keys |
| POST /_twin/keys                   | `{"key": "sk_test_x", "account": "acct_x",` |
|                                    | `"state": "valid", "denied": ["POST /v1/refunds"]}` |
| POST /_twin/late                   | every late request is executed now |
| POST /_twin/authenticate           | `{"intent": "pi_x", "passed": true}` |
| POST /_twin/end_debit              | `{"intent": "pi_x"}`: the bank speaks now |
| POST /_twin/renew_card             | `{"method": "pm_x"}`: the network brings its next date |
| POST /_twin/dispute                | `{"charge": "ch_x", "reason": "fraudulent"}` |
| POST /_twin/close_dispute          | `{"dispute": "du_x", "won": false}` |
| POST /_twin/accounts               | `{"account": "acct_y", "platform": "acct_x"}`: connected |
| POST /_twin/roll_secret            | `{"endpoint": "we_x", "overlap": 86400}`: a new secret |
| GET  /_twin/deliveries             | every try to deliver a webhook |
| POST /_twin/deliveries             | `{"lost": 0.1, "doubled": 0.1, "late": 0.1,` |
|                                    | `"late_s": 3600, "shuffle_s": 5}`; `{}` ends it |
| POST /_twin/offline                | `{"seconds": 2}`: no listener and no connection for so long |

Acts take `"account"` where it is not the first one.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from anchorhold.twin import acts, webhook_endpoints
from anchorhold.twin.clock import Clock, WallClock
from anchorhold.twin.errors import StripeError
from anchorhold.twin.faults import rule_from_json
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.state import Account
from anchorhold.twin.world import Twin

Given = Mapping[str, Any]
Answer = tuple[int, dict[str, Any]]


class Control:
    """Answers `/_twin/…` for one twin. `offline` and `deliveries` belong to the server."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._gets: dict[str, Callable[[Given], dict[str, Any]]] = {
            "": lambda _given: {"help": (__doc__ or "").splitlines()},
            "ledger": self._ledger,
            "requests": self._requests,
            "faults": lambda _given: {"rules": twin.faults.shown()},
            "clock": lambda _given: self._clock(),
            "keys": lambda _given: {"keys": self._keys()},
        }
        self._posts: dict[str, Callable[[Given], dict[str, Any]]] = {
            "faults": self._set_faults,
            "clock": self._advance,
            "accounts": self._open_account,
            "keys": self._add_key,
            "roll_secret": self._roll_secret,
            "late": lambda _given: {"executed": twin.run_late()},
            "authenticate": self._authenticate,
            "end_debit": lambda given: acts.end_debit(
                twin, given["intent"], account=given.get("account")
            ),
            "renew_card": lambda given: acts.renew_card(
                twin, given["method"], account=given.get("account")
            ),
            "dispute": lambda given: acts.open_dispute(
                twin,
                given["charge"],
                reason=given.get("reason", "fraudulent"),
                account=given.get("account"),
            ),
            "close_dispute": lambda given: acts.close_dispute(
                twin, given["dispute"], won=given["won"], account=given.get("account")
            ),
        }

    def answer(self, method: str, path: str, query: Given, body: bytes) -> Answer:
        """Status and JSON; 400 with a sentence for what cannot be done, 404 for no such path."""
        name = path.removeprefix("/_twin/").strip("/")
        acts_here = self._gets if method == "GET" else self._posts
        act = acts_here.get(name) if method in {"GET", "POST"} else None
        if act is None:
            return 404, {"error": f"no {method} {path}; GET /_twin/ lists what there is"}
        try:
            return 200, act(query if method == "GET" else _json(body))
        except StripeError as refusal:
            return refusal.status, {"error": refusal.error["message"]}
        except KeyError as missing:
            return 400, {"error": f"missing or unknown: {missing.args[0]}"}
        except (ValueError, TypeError) as wrong:
            return 400, {"error": str(wrong)}

    def _ledger(self, given: Given) -> dict[str, Any]:
        ledger = Ledger(self._twin, given.get("account"))
        return ledger.shown(given.get("by", "anchorhold_invoice_id"))

    def _requests(self, given: Given) -> dict[str, Any]:
        after = int(given.get("after", 0))
        return {"requests": [entry.shown() for entry in self._twin.requests[after:]]}

    def _set_faults(self, given: Given) -> dict[str, Any]:
        rules = [rule_from_json(rule) for rule in given["rules"]]
        self._twin.faults.replace(rules, given.get("seed"))
        return {"rules": self._twin.faults.shown()}

    def _clock(self) -> dict[str, Any]:
        return {"now": self._twin.now(), "next_due": self._twin.next_due()}

    def _advance(self, given: Given) -> dict[str, Any]:
        clock = self._twin.clock
        if not isinstance(clock, Clock | WallClock):
            raise ValueError("this twin's clock cannot be moved")  # noqa: TRY004 - a ValueError is answered as 400
        clock.advance(float(given["advance"]))
        return {"carried_out": self._twin.run_due(), **self._clock()}

    def _keys(self) -> list[dict[str, Any]]:
        return [
            {
                "key": key.secret,
                "account": key.account.id,
                "livemode": key.account.livemode,
                "state": key.state.value,
                "denied": list(key.denied),
            }
            for key in self._twin.keyring.all()
        ]

    def _add_key(self, given: Given) -> dict[str, Any]:
        state = KeyState(given.get("state", "valid"))
        account = self._account(given)
        self._twin.add_key(given["key"], account, state=state, denied=given.get("denied", ()))
        return {"keys": self._keys()}

    def _account(self, given: Given) -> Account:
        known = self._twin.keyring.get(given["key"])
        wanted = given.get("account")
        if known is not None and wanted in {None, known.account.id}:
            return known.account
        livemode = "_live_" in given["key"]
        for account in self._twin.accounts:
            if wanted in {None, account.id} and account.livemode == livemode:
                return account
        return self._twin.open_account(wanted or self._twin.accounts[0].id, livemode=livemode)

    def _open_account(self, given: Given) -> dict[str, Any]:
        platform = self._twin.account(given.get("platform"))
        self._twin.open_account(
            given["account"],
            *given.get("keys", ()),
            country=given.get("country", platform.country),
            livemode=platform.livemode,
            platform=platform.id,
        )
        return {"account": given["account"], "platform": platform.id}

    def _roll_secret(self, given: Given) -> dict[str, Any]:
        overlap_s = float(given.get("overlap", 86_400))
        call = self._twin.act(given.get("account"))
        return {"secret": webhook_endpoints.roll(call, given["endpoint"], overlap_s)}

    def _authenticate(self, given: Given) -> dict[str, Any]:
        return acts.authenticate(
            self._twin,
            given["intent"],
            passed=given.get("passed", True),
            account=given.get("account"),
        )


def _json(body: bytes) -> dict[str, Any]:
    given = json.loads(body or b"{}")
    if not isinstance(given, dict):
        raise ValueError("send a JSON object")  # noqa: TRY004 - a ValueError is answered as 400
    return given
