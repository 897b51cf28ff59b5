"""The network under which a client's address is counted."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Network, ip_address

HOST_BITS = 64  # of an IPv6 address: a client has all addresses of its network to choose from


def client_network(address: str) -> str:
    """Return an IPv4 address as it is, the /64 network of an IPv6 address, and any other text unchanged.

    >>> client_network("192.0.2.7"), client_network("::ffff:192.0.2.7"), client_network("2001:db8::1:2%eth0")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed) >> HOST_BITS << HOST_BITS, 128 - HOST_BITS)))
