"""address_range.py: ranges of addresses as settings name them."""

import pytest

from f5router.model.address_range import FreeAddresses, of_class, parse
from tests.rows import rows


@rows(("text", "addresses"), [
    ("10.0.0.0/30", ["10.0.0.1", "10.0.0.2"]), ("10.0.0.8/31", ["10.0.0.8", "10.0.0.9"]),
    ("10.0.0.5", ["10.0.0.5"]), ("10.0.0.254-10.0.1.1", ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]),
    ("2001:DB8::/127", ["2001:db8::", "2001:db8::1"]), ("a.b=10.0.0.1, 10.0.0.3", ["10.0.0.1", "10.0.0.3"]),
])
def test_addresses(text, addresses):
    ranges = parse(text)
    assert [address for each in ranges for address in each.addresses()] == addresses
    assert all(any(address in each for each in ranges) for address in addresses)
    assert not any("10.0.0.77" in each or "2001:db8::77" in each for each in ranges)


@rows(("text", "problem"), [
    ("", "is neither a network"), ("10.0.0.1/24", "is neither"), ("10.0.0.9-10.0.0.1", "is neither"),
    ("10.0.0.1-::1", "is neither"), ("10.0.0.1%6", "is neither"), ("A=10.0.0.1", "no name of a GatewayClass"),
    ("127.0.0.0/8", "cannot be served"), ("fe80::/64", "cannot be served"), ("::ffff:10.0.0.1", "cannot be"),
    ("10.0.0.0/24,a=10.0.0.7", "overlaps"), (",".join(f"10.0.{n}.1" for n in range(65)), "more than 64"),
])
def test_problems(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse(text)


def test_a_class_with_ranges_has_no_others():
    ranges = parse("10.0.0.1,a=10.0.0.2,b=10.0.0.3")
    assert [str(each) for each in of_class(ranges, "a")] == ["10.0.0.2"]
    assert [str(each) for each in of_class(ranges, "c")] == ["10.0.0.1"]
    assert of_class(parse("a=10.0.0.2"), "c") == []


def test_the_first_free_address_of_a_large_range_is_found_at_once():
    ranges = parse("2001:db8::/32")
    taken = {f"2001:db8::{number:x}" for number in range(1, 100)} | {"2001:db8::"}
    assert FreeAddresses(taken).first(ranges) == "2001:db8::64"
    assert FreeAddresses({"10.0.0.1"}).first(parse("10.0.0.1")) == ""


def test_each_address_is_looked_at_once():
    """However many Gateways find all addresses taken."""
    class Taken(set[str]):
        def __contains__(self, address: object) -> bool:
            looks.append(address)
            return super().__contains__(address)

    looks: list[object] = []
    taken, ranges = Taken(), parse("10.0.0.1-10.0.0.3")
    free = FreeAddresses(taken)
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3", "", ""):
        assert free.first(ranges) == address
        taken.add(address)
    assert looks == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
