"""Making and ending links of the hosted page, and a look at Stripe for a customer who comes back.

A link decides nothing about money: it opens `engine.page`, where the claim decides.
"""

from anchorhold.domain.ids import PAGE_LINK, InvoiceId, PageLinkId
from anchorhold.domain.page_link import LASTS_MAX_S, LASTS_S, Locale
from anchorhold.domain.page_refusals import PageCode
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import watch
from anchorhold.engine.deps import Deps
from anchorhold.engine.repair import look_once
from anchorhold.store import page_links, watches
from anchorhold.store.page_links import PageLink


async def make_link(
    deps: Deps,
    scope: Scope,
    invoice_id: InvoiceId,
    *,
    lasts_s: float = LASTS_S,
    locale: Locale | None = None,
) -> PageLink:
    """A new link to the invoice's page; any number of them may be open.

    Raises Refusal: invoice_not_found (a draft too), link_lasts_wrong.
    """
    if not 60 <= lasts_s <= LASTS_MAX_S:
        raise Refusal(PageCode.LINK_LASTS_WRONG, days=LASTS_MAX_S // 86_400)
    (link_id,) = deps.db.new_ids(PAGE_LINK, 1)
    made = await page_links.make(
        deps.db, scope, link_id, invoice_id, lasts_s=lasts_s, locale=locale, actor=deps.actor
    )
    if made is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice_id)
    return made


async def revoke_link(deps: Deps, scope: Scope, link_id: PageLinkId) -> PageLink:
    """The link opens nothing from now on; the same again when it was revoked before.

    Raises Refusal: link_not_found.
    """
    await page_links.revoke(deps.db, scope, link_id, actor=deps.actor)
    link = await page_links.one(deps.db, scope, link_id)
    if link is None:
        raise Refusal(PageCode.LINK_NOT_FOUND, id=link_id)
    return link


async def look_for_payment(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> str | None:
    """What the customer just did at Stripe was looked up and recorded; the id of the row.

    None: there is nothing to ask about, or somebody else's hold is on the invoice.
    """
    facts = await page_links.facts(deps.db, scope, invoice_id)
    connected = await deps.providers.of(scope)
    if facts is None or connected is None:
        return None
    if facts.intent_id is not None:
        watched = await watches.one(deps.db, scope, invoice_id, facts.intent_id)
        if watched is not None:
            return await watch.look_at(deps, connected, scope, watched)
    return await look_once(deps, scope, invoice_id)
