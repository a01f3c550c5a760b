"""Addresses: which are public, how a host is found, what is the same page."""

from ipaddress import IPv6Address, ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.crawl.addresses import (
    PrivateAddressError,
    checked_addresses,
    is_public,
    may_ask,
    resolve,
)
from corpora.crawl.types import ANY_ADDRESS, SitePolicy
from corpora.crawl.urls import BadUrlError, parse_url
from corpora.errors import UsageError
from corpora.system.web import crawler_agent

# The registry of special addresses of IANA (RFC 6890 and later).
SPECIAL_4 = [
    *map(ip_network, ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16")),
    *map(ip_network, ("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24")),
    *map(ip_network, ("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24")),
    *map(ip_network, ("224.0.0.0/4", "240.0.0.0/4")),
]
four = st.ip_addresses(v=4) | st.sampled_from(SPECIAL_4).flatmap(
    lambda network: st.ip_addresses(network=network)
)


@given(four)
def test_an_address_of_a_special_range_is_not_public_and_any_other_is(address):
    is_special = any(address in network for network in SPECIAL_4)

    assert is_public(address) == (not is_special)


@given(st.ip_addresses(v=6))
@example(ip_address("fe80::1"))
@example(ip_address("fd00:ec2::254"))
def test_what_the_standard_library_calls_local_is_never_public(address):
    assert not (is_public(address) and (address.is_private or address.is_multicast))


@given(four)
def test_an_address_is_as_public_as_the_one_that_it_wraps(address):
    mapped = IPv6Address(int(ip_address("::ffff:0:0")) | int(address))
    translated = IPv6Address(int(ip_address("64:ff9b::")) | int(address))

    assert is_public(mapped) == is_public(translated) == is_public(address)


@given(four)
def test_relays_to_anywhere_are_not_public(address):
    six_to_four = IPv6Address((0x2002 << 112) | (int(address) << 80))
    teredo = IPv6Address((0x20010000 << 96) | (int(address) << 64))
    compatible = IPv6Address(int(address))

    assert not any(map(is_public, (six_to_four, teredo, compatible)))


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "::1", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:10.0.0.1"],
)
def test_addresses_of_machines_and_their_metadata_are_not_public(text):
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700:4700::1111"])
def test_addresses_of_the_internet_are_public(text):
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", ["0.0.0.0", "224.0.0.1", "::", "ff02::1"])  # noqa: S104
def test_what_names_no_host_cannot_be_allowed(text):
    assert not may_ask(ip_address(text), [ip_network(network) for network in ANY_ADDRESS])


@given(four.filter(lambda address: not is_public(address)))
def test_a_private_address_that_is_not_named_is_refused_in_whatever_order(address):
    for found in (["8.8.8.8", str(address)], [str(address), "8.8.8.8"]):
        with pytest.raises(PrivateAddressError, match="allow_private"):
            checked_addresses("a.example", 80, allow=(), resolver=lambda *_, found=found: found)


def test_one_address_may_be_allowed_and_its_neighbour_not():
    allow = ("127.0.0.1",)

    assert checked_addresses("a", 80, allow=allow, resolver=lambda *_: ["127.0.0.1"])
    with pytest.raises(PrivateAddressError):
        checked_addresses("a", 80, allow=allow, resolver=lambda *_: ["127.0.0.2"])


def test_a_host_without_an_address_and_one_with_what_is_none_are_errors():
    with pytest.raises(PrivateAddressError, match="nonsense is no address"):
        checked_addresses("a", 80, allow=(), resolver=lambda *_: ["8.8.8.8", "nonsense"])
    with pytest.raises(OSError, match="has no address"):
        checked_addresses("a", 80, allow=(), resolver=lambda *_: [])


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "017700000001"])
def test_whatever_this_machine_is_called_it_is_found_out(host):
    with pytest.raises(PrivateAddressError):
        checked_addresses(host, 80, allow=(), resolver=resolve)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("HTTP://A.Example:80", "http://a.example/"),
        ("https://a.example:443/b#c", "https://a.example/b"),
        ("https://a.example:8443/", "https://a.example:8443/"),
        ("http://a.example./?q=ä b", "http://a.example/?q=%C3%A4%20b"),
        ("http://müller.example/ä", "http://xn--mller-kva.example/%C3%A4"),
        ("http://a.example/b/../c/./d/%2E%2e/e", "http://a.example/c/e"),
        ("http://a.example/../..", "http://a.example/"),
        ("http://a.example/%c3%a4?q=%2f%C3%b6%", "http://a.example/%C3%A4?q=%2F%C3%B6%"),
        ("http://[::FFFF:7f00:1]:8080/x", "http://[::ffff:7f00:1]:8080/x"),
        ("http://a.example/b;jsessionid=8F3?c=1", "http://a.example/b?c=1"),
        ("http://a.example/?PHPSESSID=8f3&c=1", "http://a.example/?c=1"),
        ("http://a.example/b?c=1&sid=0a1b2c3d4e5f60718293", "http://a.example/b?c=1"),
        ("http://a.example/b?sid=politik&session=12", "http://a.example/b?sid=politik&session=12"),
    ],
)
def test_an_address_has_one_form(url, normal):
    assert parse_url(url).url == normal


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "file:///etc/passwd",
        "//a.example/",
        "http://",
        "http://user:pass@a.example/",
        "http://good.example\\@bad.example/",
        "http://a.example:0/",
        "http://a.example:70000/",
        "http://a b/",
        "http://[fe80::1%25eth0]/",
        "http://[::1/",
        "http://a..example/",
        "http://a.example/" + "x" * 5000,
        "http://a.example/" + "a/../" * 5000,
        "http://a.example/\ud800",
    ],
)
def test_what_is_no_address_of_a_page_is_refused(url):
    with pytest.raises(BadUrlError):
        parse_url(url)


@given(
    st.text(alphabet="ab/.%2eE?#&=ä \\\t\r\n", max_size=30),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.example", "a.example:8080", "[::1]", "127.0.0.1"]),
)
def test_the_normal_form_of_a_normal_form_is_itself(path, scheme, host):
    url = parse_url(f"{scheme}://{host}/{path}").url

    assert parse_url(url).url == url
    assert url.isascii()
    assert not set(url) & set(" \r\n\t")


@pytest.mark.parametrize(
    ("url", "hosts", "expected"),
    [
        ("http://a.example/", ("a.example",), True),
        ("https://www.a.example/", ("a.example",), True),
        ("https://nota.example/", ("a.example",), False),
        ("http://a.example:8080/", ("a.example",), False),
        ("http://a.example:8080/", ("A.example:8080",), True),
        ("http://127.0.0.1/", ("127.0.0.1:8080",), False),
        ("http://x.127.0.0.1/", ("127.0.0.1",), False),
        ("http://[::1]:81/", ("[::1]:81",), True),
    ],
)
def test_a_site_has_its_hosts_and_ports(url, hosts, expected):
    assert parse_url(url).is_of(hosts) == expected


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"contact": "me"}, "s: contact 'me': must be your address"),
        ({"hosts": ()}, "no hosts"),
        ({"delay": -1.0}, "delay must be at least 0"),
        ({"max_pages": 0}, "max_pages must be at least 1"),
        ({"page_seconds": 0.0}, "page_seconds must be above 0"),
        ({"allow_private": ("home",)}, "allow_private: 'home' does not appear"),
    ],
)
def test_a_policy_that_makes_no_sense_is_an_error(changed, message):
    values = {"name": "s", "hosts": ("a.example",), "contact": "a@b.example"}

    with pytest.raises(UsageError, match=message):
        SitePolicy(**values | changed)


def test_the_agent_says_who_is_responsible():
    assert crawler_agent("me@b.example").startswith("Onoma/")
    assert crawler_agent("me@b.example").endswith(" (+me@b.example)")
