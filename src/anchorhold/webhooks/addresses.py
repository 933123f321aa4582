"""Which addresses a webhook may go to: never one of our own network (server-side request forgery).

A name is nothing to go by, because its owner decides where it leads, and may decide anew between
two look-ups. So the address itself is looked at, in the step that opens the connection.
"""

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Network = IPv4Network | IPv6Network

TRANSLATED = ip_network("64:ff9b::/96")
"""IPv6 for an IPv4 address, by NAT64 (RFC 6052)."""


def is_allowed(address: str, private: Sequence[Network] = ()) -> bool:
    """Webhooks may go to this IP address: a public one, or one of the private networks named.

    Tunnels (6to4, Teredo) and site-local addresses count as private.
    """
    try:
        ip = _meant(ip_address(address.split("%", 1)[0]))
    except ValueError:
        return False
    if any(ip.version == network.version and ip in network for network in private):
        return True
    tunnel = isinstance(ip, IPv6Address) and (ip.sixtofour or ip.is_site_local)
    return ip.is_global and not ip.is_multicast and not tunnel


def _meant(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address only wraps."""
    if isinstance(ip, IPv6Address):
        if ip in TRANSLATED:
            return ip_address(int(ip) & 0xFFFF_FFFF)
        return ip.ipv4_mapped or ip
    return ip
