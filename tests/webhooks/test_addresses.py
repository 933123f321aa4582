"""No webhook goes to an address of our own network, however it is written."""

from ipaddress import ip_network

import pytest

from anchorhold.webhooks.addresses import is_allowed

OURS = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "2001:0:4136:e378:8000:63bf:80ff:fffe", "fec0::1", "2001:db8::1",
    "localhost", "", "127.1", "0x7f000001", "2130706433",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]


@pytest.mark.parametrize("address", OURS)
def test_an_address_of_our_own_network_is_refused(address: str) -> None:
    assert not is_allowed(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert is_allowed(address)


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3"])
def test_a_private_network_that_is_named_is_allowed(address: str) -> None:
    assert is_allowed(address, [ip_network("10.1.0.0/16"), ip_network("fd00::/8")])
    assert not is_allowed("10.2.0.1", [ip_network("10.1.0.0/16")])
