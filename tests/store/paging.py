"""TABLE: the reads and writes about links of the hosted page, as `writes.py` has them."""

from typing import Any

from anchorhold.domain.ids import InvoiceId, PageLinkId
from anchorhold.domain.page_link import Locale
from anchorhold.domain.scope import Scope
from anchorhold.store import page_links
from anchorhold.store.db import Db
from tests.store.scene import ACTOR, OURS, Scene

INVOICE = InvoiceId("inv_" + "1".rjust(26, "0"))
LINK = PageLinkId("lnk_" + "1".rjust(26, "0"))
OWN_ROW = "its own row tells it, with its time"


async def make(db: Db, scope: Scope, invoice: InvoiceId, link: PageLinkId = LINK) -> Any:
    return await page_links.make(
        db, scope, link, invoice, lasts_s=3600, locale=Locale.DE, actor=ACTOR
    )


async def linked(scene: Scene) -> PageLinkId:
    """An invoice has a link."""
    (invoice,) = await scene.due()
    assert await make(scene.db, scene.scope, invoice)
    return LINK


async def everything(scene: Scene) -> None:
    """The first invoice has a link."""
    ((invoice,),) = scene.sql(
        """
        SELECT min(id) FROM anchorhold.invoice
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
        """,
        **scene.scope.params,
    )
    assert await make(scene.db, scene.scope, InvoiceId(str(invoice)))


async def an_id(scene: Scene) -> Any:
    return (await scene.due())[0]


async def present(db: Db, scope: Scope) -> Any:
    return await page_links.present(db, scope, publishable_key="pk_test_1", public_name="Acme")


# fmt: off
WRITES: tuple[dict[str, Any], ...] = (
    {"function": "page_links.make", "arrange": an_id, "journal": "link.made",
     "run": lambda db, scope, scene, invoice: make(db, scope, invoice)},
    {"function": "page_links.revoke", "arrange": linked, "journal": "link.revoked",
     "run": lambda db, scope, scene, link: page_links.revoke(db, scope, link, actor=ACTOR)},
)
STAMPS: tuple[dict[str, Any], ...] = (
    {"function": "page_links.present", "arrange": an_id, "untold": "no invoice changes",
     "scoped": False,
     "run": lambda db, scope, scene, _state: present(db, scope)},
)
READS: tuple[Any, ...] = (
    ("page_links.one", lambda db, scope: page_links.one(db, scope, LINK)),
    ("page_links.of_invoice", lambda db, scope: page_links.of_invoice(db, scope, INVOICE), []),
    ("page_links.facts", lambda db, scope: page_links.facts(db, scope, INVOICE)),
)
# fmt: on

MOVED: dict[str, str] = {
    "the link was revoked": "UPDATE anchorhold.page_link SET revoked_at = anchorhold.now()",
}
GUARDS: dict[str, tuple[str, ...]] = {"page_links.revoke": ("the link was revoked",)}
UNCONDITIONAL = {
    "page_links.make": "held by the row's primary key",
    "page_links.present": "the newest words are the page's",
}
ILLEGAL: dict[str, tuple[str, ...]] = {
    "page_link_locale_check": (
        """
        INSERT INTO anchorhold.page_link (account_id, livemode, id, invoice_id, expires_at, locale)
        SELECT account_id, livemode, 'lnk_1', id, anchorhold.now(), 'tlh'
          FROM anchorhold.invoice WHERE account_id = 'acc_ours' AND NOT livemode
        """,
    ),
    "page_link_pkey": (
        """
        INSERT INTO anchorhold.page_link (account_id, livemode, id, invoice_id, expires_at)
        SELECT account_id, livemode, 'lnk_1', id, anchorhold.now()
          FROM anchorhold.invoice, generate_series(1, 2)
         WHERE account_id = 'acc_ours' AND NOT livemode
        """,
    ),
}
"""For each rule, the statements that it refuses."""


def cases(inv: Any) -> list[tuple[Any, ...]]:
    """What each statement may touch at a million invoices."""
    return [
        ("page_links.make", 60, lambda db, _: make(db, OURS, inv("due"))),
        ("page_links.revoke", 60, lambda db, _: page_links.revoke(
            db, OURS, LINK, actor=ACTOR), "", False),
        ("page_links.one", 60, lambda db, _: page_links.one(db, OURS, LINK), "", False),
        ("page_links.of_invoice", 60, lambda db, _: page_links.of_invoice(
            db, OURS, inv("due")), "", False),
        ("page_links.facts", 60, lambda db, _: page_links.facts(db, OURS, inv("due"))),
    ]  # fmt: skip
