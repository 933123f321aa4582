"""Making a link to the payment page, and how links and what the page says are shown."""

from dataclasses import asdict

from anchorhold.cli.call import Call
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.objects import Object, plain
from anchorhold.cli.output import line, show_one
from anchorhold.cli.session import Session
from anchorhold.domain.page_link import LinkState, Locale
from anchorhold.domain.page_refusals import PageCode
from anchorhold.domain.refusals import Refusal
from anchorhold.engine.page_links import make_link
from anchorhold.page_urls import PageUrls
from anchorhold.store.page_links import PageLink


def to_object(desk: Session, link: PageLink) -> Object:
    """A link as JSON; its address only while it opens something."""
    url = None
    if link.state is LinkState.OPEN:
        url = PageUrls(desk.app.settings, desk.app.secret_key).of(desk.scope, link.id)
    shown = {name: plain(value) for name, value in asdict(link).items()}
    return {"object": "page_link", "livemode": desk.scope.livemode, "url": url, **shown}


async def run(call: Call, desk: Session, name: str, *, days: int, locale: Locale | None) -> None:
    """A new link to this invoice's page is made and shown."""
    invoice = await the_invoice(desk, name)
    deps = desk.app.deps
    link = await make_link(deps, desk.scope, invoice.id, lasts_s=days * 86_400, locale=locale)
    data = to_object(desk, link)

    def screen() -> None:
        print(data["url"])
        line("Link", link.id)
        line("Expires", desk.when.at(link.expires_at))
        line("End it", f"anchorhold link revoke {link.id}")

    show_one(call, link.id, data, screen)


def require_publishable(key: str, mode: str) -> None:
    """It is a key that browsers may hold, of this mode. Raises Refusal: publishable_key_invalid."""
    reason = None
    if key.startswith(("sk_", "rk_")):
        reason = "it is a secret key, and browsers must never see one"
    elif not key.startswith("pk_") or not key.isascii() or len(key.split()) != 1:
        reason = "it does not begin with pk_"
    elif not key.startswith(f"pk_{mode}_"):
        reason = "it is of the other mode"
    if reason is not None:
        raise Refusal(PageCode.PUBLISHABLE_KEY_INVALID, mode=mode, reason=reason)
