"""The headers of every answer below `/pay`: what a browser may load, and who may keep it."""

from dataclasses import dataclass
from typing import Final

STRIPE_JS: Final = "https://js.stripe.com/v3/"
"""Always from Stripe itself, never a copy of ours (Stripe: Including Stripe.js)."""
NOBODY_KEEPS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
}


@dataclass(frozen=True, slots=True)
class Sources:
    """Where Stripe's part of the page comes from, in words of a Content-Security-Policy."""

    script: str
    scripts: str
    connects: str
    frames: str

    def policy(self, nonce: str) -> str:
        """The Content-Security-Policy of a page whose own scripts carry this nonce."""
        return "; ".join(
            (
                "default-src 'none'",
                f"script-src 'nonce-{nonce}' {self.scripts}",
                "style-src 'self'",
                "img-src 'self' data:",
                f"connect-src 'self' {self.connects}",
                f"frame-src {self.frames}",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            )
        )


# Stripe: Security guide, "Content security policy".
OF_STRIPE: Final = Sources(
    script=STRIPE_JS,
    scripts="https://js.stripe.com https://*.js.stripe.com",
    connects="https://api.stripe.com",
    frames="https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com",
)


def of_twin(base: str) -> Sources:
    """The stand-in of a twin at this address, which serves all parts itself."""
    return Sources(script=f"{base}/js/v3/", scripts=base, connects=base, frames=base)
