"""Lists of the clients of a Route: what they let in, and which lists refuse the Route."""

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from f5router.admission.allowlist import CIS_IN_ORDER, IN_ORDER, MOST_ENTRIES, Allowlist, parse
from tests.rows import rows
from tests.unit.admission.test_route_options import HOSTILE

NEWER, OLDER = IN_ORDER
WHITELIST, ALLOW = CIS_IN_ORDER
CIDRS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).flatmap(
    lambda address: st.integers(0, address.max_prefixlen).map(lambda length: f"{address}/{length}"))

NEAR = st.builds("{}.{}.{}.{}/{}".format, *(st.integers(0, 3) for _ in range(4)), st.integers(8, 32))
NEAR6 = st.builds("{:x}::{:x}/{}".format, st.integers(0, 1), st.integers(0, 9), st.integers(96, 128))


@rows(("text", "sources"), [
    ("10.0.0.0/8", ("10.0.0.0/8",)),
    ("10.1.2.3 192.168.0.0/16\t2001:db8::1", ("10.1.2.3/32", "192.168.0.0/16", "2001:db8::1/128")),
    ("10.1.2.3/8", ("10.0.0.0/8",)),
    (" 10.1.2.3 ", ("10.1.2.3/32",)),
    ("10.1.2.3 10.1.2.3/32", ("10.1.2.3/32",)),
    ("10.0.0.0/8 10.1.2.3", ("10.0.0.0/8",)),
    ("::ffff:10.1.2.3", ("10.1.2.3/32",)),
    ("::ffff:10.1.2.3/104", ("10.0.0.0/8",)),
    ("::ffff:0:0/95", ("::fffe:0:0/95",)),
    ("0.0.0.0/0", ("0.0.0.0/1", "128.0.0.0/1")),
    ("::/0", ("8000::/1", "::/1")),
])
@rows("key", IN_ORDER)
def test_lists(key, text, sources):
    assert parse({key: text}) == Allowlist(sources)


@pytest.mark.parametrize("value", ["", " ", "\t\n", None, 5, [], {}, True])
@pytest.mark.parametrize("key", IN_ORDER)
def test_an_empty_list_asks_for_nothing(key, value):
    assert parse({key: value}) == Allowlist()


def test_the_newer_annotation_decides():
    assert parse({NEWER: "10.0.0.1", OLDER: "10.0.0.2"}).sources == ("10.0.0.1/32",)
    assert parse({NEWER: " ", OLDER: "10.0.0.2"}).sources == ("10.0.0.2/32",)
    assert NEWER in parse({NEWER: "bad", OLDER: "10.0.0.2"}).refusal


@rows("text", [
    *(text for text in HOSTILE if text.strip()), "10.0.0.256", "10.0.0.0/33", "10", "10.0.0.0/0x8",
    "10.1.2.3/0.0.0.0", "10.1.2.3/0.0.0.255", "10.0.0.0/255.0.0.0", "10.0.0.0/-8", "10.0.0.0/+8", "10.0.0.0/",
    "10.0.0.0/8/8", "10.0.0.0/\u0668",
    "example.com",
    "fe80::1%eth0", "10.0.0.1%5", "10.0.0.1%5/32", "10.0.0.1,10.0.0.2", "10.0.0.1-10.0.0.2", "010.0.0.1",
    "!10.0.0.1", "-f", "::ffff:10.0.0.256",
], ids=lambda text: ascii(text[:20]))
def test_a_bad_entry_lets_nobody_in(text):
    """A list without a good one refuses the Route: without it everybody would get in."""
    refused = parse({NEWER: text})
    assert refused.sources == ()
    assert refused.refusal.startswith(f"metadata.annotations: {NEWER} has ")
    partly = parse({NEWER: f"10.0.0.1 {text}"})
    assert (partly.sources, partly.refusal, len(partly.problems)) == (("10.0.0.1/32",), "", 1)
    for sentence in (refused.refusal, *partly.problems):
        assert sentence.isprintable()
        assert len(sentence) < 700


def test_a_list_that_is_too_long():
    entries = [f"10.{number // 256}.{number % 256}.1" for number in range(MOST_ENTRIES + 1)]
    assert len(parse({NEWER: " ".join(entries[1:])}).sources) == MOST_ENTRIES
    assert parse({NEWER: " ".join(entries)}).refusal == (
        f"metadata.annotations: {NEWER} has 1001 entries, at most 1000 are possible")


@pytest.mark.parametrize(("text", "sources"), [
    ("10.0.0.0/8,192.0.2.1/32", ("10.0.0.0/8", "192.0.2.1/32")),
    ("10.0.0.0/8 , 192.0.2.1", ("10.0.0.0/8", "192.0.2.1/32")),
    ("10.0.0.0/8 192.0.2.1", ("10.0.0.0/8", "192.0.2.1/32")),
    ("10.0.0.0/8,,", ("10.0.0.0/8",)),
])
@pytest.mark.parametrize("key", CIS_IN_ORDER)
def test_lists_of_container_ingress_services(key, text, sources):
    assert parse({key: text}) == Allowlist(sources)


@pytest.mark.parametrize("text", [",", " , ", "10.1.2.3/255.255.0.0", ";", "example.com,x"])
def test_a_list_of_container_ingress_services_without_a_valid_entry(text):
    assert "without a valid entry everybody would get in" in parse({ALLOW: text}).refusal
    assert parse({ALLOW: text, NEWER: "10.0.0.0/8"}).refusal, "fails closed beside a valid one"
    assert parse({ALLOW: "10.0.0.0/8", NEWER: text}).refusal


def test_which_list_of_container_ingress_services_decides():
    assert parse({WHITELIST: "10.0.0.1", ALLOW: "10.0.0.2"}).sources == ("10.0.0.1/32",)


@pytest.mark.parametrize(("ours", "theirs", "sources"), [
    ("10.0.0.0/8", "10.1.0.0/16,192.0.2.0/24", ("10.1.0.0/16",)),
    ("10.0.0.0/9 10.128.0.0/9 2001:db8::/32", "10.0.0.0/7,::/0", ("10.0.0.0/8", "2001:db8::/32")),
    ("::ffff:10.0.0.0/104", "10.9.9.9", ("10.9.9.9/32",)),
])
def test_a_client_must_be_in_both_lists(ours, theirs, sources):
    assert parse({NEWER: ours, ALLOW: theirs}) == Allowlist(sources)


@pytest.mark.parametrize(("ours", "theirs"), [("10.0.0.0/8", "11.0.0.0/8"), ("10.0.0.0/8", "::/0")])
def test_lists_without_a_common_client(ours, theirs):
    """An empty list is everybody's, so the Route is refused."""
    assert parse({OLDER: ours, WHITELIST: theirs}) == Allowlist(refusal=(
        f"metadata.annotations: {OLDER} and {WHITELIST} have no client in common; a client must be in both"))


def as_meant(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """A network; one of IPv6 addresses that hold IPv4 addresses is that of IPv4."""
    net = ipaddress.ip_network(entry, strict=False)
    mapped = getattr(net.network_address, "ipv4_mapped", None)
    return ipaddress.ip_network((mapped, net.prefixlen - 96)) if mapped and net.prefixlen >= 96 else net


@example(["0.0.0.0/0"], ["::ffff:0:0/96"], [])
@given(*[st.lists(CIDRS | NEAR | NEAR6, min_size=1, max_size=8)] * 2, st.lists(st.ip_addresses(), max_size=6))
def test_exactly_the_common_addresses_get_in(ours, theirs, others):
    lists = [[as_meant(entry) for entry in entries] for entries in (ours, theirs)]
    sources = [ipaddress.ip_network(text)
               for text in parse({NEWER: " ".join(ours), ALLOW: ",".join(theirs)}).sources]
    for address in (*others, *(edge for nets in lists for net in nets for edge in (net[0], net[-1]))):
        if getattr(address, "ipv4_mapped", None):
            continue  # no connection has it: its client is one of IPv4
        assert any(address in net for net in sources) == all(
            any(address in net for net in nets) for nets in lists)


@example(["::ffff:0:0/96"], [ipaddress.ip_address("0.0.0.0")])
@given(st.lists(CIDRS, min_size=1, max_size=6), st.lists(st.ip_addresses(), max_size=6))
def test_exactly_the_listed_addresses_get_in(entries, others):
    sources = [ipaddress.ip_network(text) for text in parse({NEWER: " ".join(entries)}).sources]
    networks = [as_meant(entry) for entry in entries]
    for address in (*others, *(edge for net in networks for edge in (net[0], net[-1]))):
        if getattr(address, "ipv4_mapped", None):
            continue  # no connection has it: its client is one of IPv4
        assert any(address in net for net in sources) == any(address in net for net in networks)
    assert all(net.prefixlen for net in sources)


@given(st.lists(CIDRS | NEAR | NEAR6, min_size=1, max_size=12))
def test_networks_are_merged_as_in_the_standard_library(entries):
    networks = [ipaddress.ip_network(entry, strict=False) for entry in entries]
    v4 = [net for net in networks if net.version == 4]
    v6 = [net for net in networks if net.version == 6 and not net.network_address.ipv4_mapped]
    v4 += [ipaddress.ip_network((net.network_address.ipv4_mapped, max(0, net.prefixlen - 96)))
           for net in networks if net.version == 6 and net.network_address.ipv4_mapped]
    merged = [*ipaddress.collapse_addresses(v4), *ipaddress.collapse_addresses(v6)]
    assert parse({NEWER: " ".join(entries)}).sources == tuple(sorted(
        str(cidr) for net in merged for cidr in (net.subnets() if net.prefixlen == 0 else [net])))


@given(st.from_regex(r"[0-9a-f:./]{1,20}", fullmatch=True) | st.text(min_size=1).filter(
    lambda text: len(text.split()) == 1))
def test_an_entry_is_valid_where_the_standard_library_takes_it(entry):
    """Apart from netmasks and zones."""
    length = entry.partition("/")[2]
    try:
        ipaddress.ip_network(entry, strict=False)
        valid = "%" not in entry and (not length or (length.isascii() and length.isdigit()))
    except ValueError:
        valid = False
    assert bool(parse({NEWER: f"10.0.0.1 {entry}"}).problems) != valid


@given(st.dictionaries(st.sampled_from(IN_ORDER) | st.sampled_from(CIS_IN_ORDER), st.text()))
def test_any_text_gives_a_list_or_a_reason(annotations):
    result = parse(annotations)
    asked = any(text.split() for text in annotations.values())
    assert bool(result.sources) + bool(result.refusal) == asked
    assert all(text.isprintable() for text in (*result.problems, result.refusal))
