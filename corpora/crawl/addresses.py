"""Check of IP addresses: only public ones, and those that are explicitly allowed, may be asked.

A host name is resolved once, and the connection is made to the address that was checked, so that a
second answer of the name server cannot lead elsewhere (DNS rebinding). An IPv6 address that wraps
an IPv4 address (mapped, NAT64) is as private as the wrapped one; 6to4 and Teredo are never public.
"""

import socket
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from corpora.errors import CorpusError, UsageError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Sequence[str]]
"""A function that returns all addresses of a host and port; raises ``OSError``."""
_NAT64 = ip_network("64:ff9b::/96")
_NEVER = (
    ip_network("192.0.0.0/24"),  # protocols
    ip_network("192.88.99.0/24"),  # relays of 6to4: they and the next two lead to any address
    ip_network("2002::/16"),  # 6to4
    ip_network("2001::/23"),  # Teredo, and protocols
    ip_network("::/96"),  # IPv4 addresses written as IPv6 (deprecated)
    ip_network("64:ff9b:1::/48"),  # local NAT64
    ip_network("fec0::/10"),  # site-local (deprecated)
    ip_network("3fff::/20"),  # documentation
    ip_network("5f00::/16"),  # segment routing
)
"""Networks that are not public, whatever ``is_global`` of this version of Python says."""


class PrivateAddressError(CorpusError):
    """The error for a host with an address that may not be asked."""


def is_public(address: Address) -> bool:
    """Tell whether an address, or the IPv4 address that it wraps, is of the public internet."""
    if isinstance(address, IPv6Address):
        if (wrapped := _wrapped(address)) is not None:
            return is_public(wrapped)
        if address.scope_id is not None:
            return False
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_special and not _is_in(address, _NEVER)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _wrapped(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to; None if it leads to none."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


@lru_cache(maxsize=1024)
def parse_networks(networks: tuple[str, ...]) -> tuple[Network, ...]:
    """Parse addresses and networks; raise ``UsageError``."""
    try:
        return tuple(ip_network(text) for text in networks)
    except ValueError as error:
        raise UsageError(
            f"allow_private: {error}. Write addresses or networks: 127.0.0.1, 10.1.0.0/16."
        ) from error


def may_ask(address: Address, allow_private: Sequence[Network]) -> bool:
    """Tell whether an address may be asked: a public one, or one in ``allow_private``.

    Nothing allows ``0.0.0.0`` and multicast groups: they name no host.
    """
    if is_public(address):
        return True
    if address.is_multicast or address.is_unspecified:
        return False
    plain = (_wrapped(address) or address) if isinstance(address, IPv6Address) else address
    return _is_in(plain, allow_private)


def literal(host: str) -> Address | None:
    """Return the IP address that a host is written as; None for a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for all addresses of a host; raise ``OSError``."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def checked_addresses(
    host: str, port: int, *, allow: tuple[str, ...], resolver: Resolver
) -> tuple[str, ...]:
    """Resolve a host once, and check all of its addresses.

    Raises ``PrivateAddressError`` where any of the addresses may not be asked, so that their order
    does not matter; ``OSError`` where the host has none.
    """
    networks = parse_networks(allow)
    addresses = tuple(resolver(host, port))
    for text in addresses:
        try:
            address = ip_address(text)
        except ValueError:
            raise PrivateAddressError(f"{host}: {text} is no address that is known.") from None
        if not may_ask(address, networks):
            raise PrivateAddressError(
                f"{host}: {text} is no address of the public internet. If you mean it, name it in "
                "allow_private."
            )
    if not addresses:
        raise OSError(f"{host}: has no address")
    return addresses
