"""The secret that Stripe signs its webhooks with: asked for, sealed, stored."""

import sys

import typer

from anchorhold import crypto
from anchorhold.cli.asking import interruptible
from anchorhold.cli.session import Session
from anchorhold.domain.ids import SIGNING_SECRET
from anchorhold.domain.refusals import Refusal, WebhookCode
from anchorhold.signing_keys import place_of_signing_secret
from anchorhold.store import signing_secrets

PREFIX = "whsec_"


def ask_for_secret() -> str:
    """The secret, from a hidden prompt or standard input; never from the command line.

    Refuses what is none (SIGNING_SECRET_INVALID).
    """
    with interruptible():
        given = _typed() if sys.stdin.isatty() else sys.stdin.readline()
    given = given.strip()
    if not given.startswith(PREFIX) or len(given.split()) != 1 or len(given) < 16:
        raise Refusal(WebhookCode.SIGNING_SECRET_INVALID)
    return given


def _typed() -> str:
    return str(typer.prompt("Stripe signing secret (whsec_…)", hide_input=True, err=True))


async def trust(desk: Session, secret: str, *, overlap_s: float) -> str:
    """Deliveries that the secret signs are believed; the id of its row.

    Refuses when the mode is not connected (MODE_NOT_CONNECTED).
    """
    (new,) = desk.db.new_ids(SIGNING_SECRET, 1)
    sealed = crypto.seal(desk.app.secret_key, secret, *place_of_signing_secret(desk.scope, new))
    added = await signing_secrets.add(
        desk.db, desk.scope, new, secret=sealed, last4=secret[-4:], overlap_s=overlap_s
    )
    if added is None:
        account, mode = desk.scope.account_id, desk.scope.mode
        raise Refusal(WebhookCode.MODE_NOT_CONNECTED, account=account, mode=mode)
    return added
