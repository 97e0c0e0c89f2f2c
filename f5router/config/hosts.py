"""Management addresses of the units of a pair."""

from f5router.config import parsers

MOST_UNITS = 8
"""Most units of a BIG-IP device group. Source: F5's manual "BIG-IP Device Service Clustering:
Administration", Working with Device Groups."""


def hosts(text: str) -> tuple[parsers.Host, ...]:
    """Host names or addresses, separated by commas; one is usual."""
    addresses = tuple(parsers.host(address.strip()) for address in text.split(","))
    if len(addresses) > MOST_UNITS:
        raise ValueError(f"there are more than {MOST_UNITS} addresses")
    if len({each.netloc.lower() for each in addresses}) < len(addresses):
        raise ValueError("one address is there twice")
    return addresses
