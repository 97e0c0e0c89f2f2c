"""Reading of collections: small ones in one reply, large ones in pages, so that little JSON is held at once.

`$top` and `$skip` are documented (DevCentral, "Demystifying iControl REST" part 3; F5 bug 547581), but not
whether pages stay as they are while objects come and go, nor how they go with `$filter`
(bigip-behaviour.md A10.5). So the pages are checked against a list of all names, read before them in one
reply: what they lack is read singly, or with the whole collection, as on a device that ignores `$skip`.
"""

import logging
from collections.abc import Iterator, Mapping

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.model.errors import DeviceTimeout, Refused
from f5router.model.json_types import JSON

log = logging.getLogger(__name__)

PAGE = 500
"""Items of a page."""
MOST_SINGLY = 50
"""Items that pages lack and that are read singly; if there are more, the whole collection is read."""

_NAMES = "name,partition,subPath,fullPath"
_EXPAND = {"expandSubcollections": "true"}


def filtered(folder: str) -> dict[str, str]:
    """Return the query for the objects of a folder.

    In a nested folder the whole collection is read: whether `$filter=partition` gives what lies in
    sub-folders is not recorded (bigip-behaviour.md A10.4).
    """
    partition, *nested = folder.strip("/").split("/")
    return {} if nested else {"$filter": f"partition eq {partition}"}


def items(client: Client, path: str, params: Mapping[str, str], *, expand: bool = False,
          large: bool = False) -> Iterator[JSON]:
    """Yield the items of a collection, each once. A collection that takes too long is read in pages.

    Args:
        path: of the collection below /mgmt/tm.
        expand: with sub-collections.
        large: read it in pages at once.
    """
    query = {**params, **(_EXPAND if expand else {})}
    if not large:
        try:
            whole = client.get(path, query).get("items") or []
        except DeviceTimeout:
            log.info("collection takes too long, reading pages", extra={"kind": path})
        else:
            yield from whole
            return
    known = client.get(path, {**params, "$select": _NAMES}).get("items") or []
    missing = set(filter(None, map(name_of, known)))
    del known
    for page in _pages(client, path, query, len(missing)):
        for item in page:
            if (name := name_of(item)) in missing:
                missing.remove(name)
                yield item
    if missing:
        yield from _missing(client, path, query, missing)


def _pages(client: Client, path: str, query: Mapping[str, str], count: int) -> Iterator[list[JSON]]:
    """Yield pages; none if the device refuses them."""
    first = None
    for skip in range(0, count, PAGE):
        try:
            page = client.get(path, {**query, "$top": str(PAGE), "$skip": str(skip)}).get("items") or []
        except Refused as exc:
            log.info("page refused, reading the whole collection", extra={"kind": path, "error": str(exc)})
            return
        begin = name_of(page[0]) if page else None
        if begin in (None, first):
            return  # `$skip` has no effect
        first = begin
        yield page
        if len(page) > PAGE:
            return  # nor has `$top`: that was all


def _missing(client: Client, path: str, query: Mapping[str, str], missing: set[str]) -> Iterator[JSON]:
    """Yield the items that pages miss: items that moved between pages as other items came or went."""
    if len(missing) > MOST_SINGLY:
        try:
            whole = client.get(path, query).get("items") or []
        except DeviceTimeout:
            log.info("collection takes too long, reading items", extra={"kind": path, "items": len(missing)})
        else:
            yield from (item for item in whole if name_of(item) in missing)
            return
    for name in sorted(missing):
        if (item := get_if_there(client, item_path(path, name), _EXPAND)) is not None:
            yield item


def name_of(item: JSON) -> str:
    """Return the full path of an item, "" for an item of unknown form."""
    try:
        return ltm_codec.path_of(item)
    except ltm_codec.ODD:
        return ""
