"""JSON of replies: identity, links, sub-collections, `$filter` and the other query options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from mocks.bigip import names, refusals, versions
from mocks.bigip.kinds import Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Store

Query = Mapping[str, str]
ROOT = "https://localhost/mgmt/tm/"

_FILTER = re.compile(r"^partition\s+eq\s+'?/?([^\s']+?)'?$")
_ROUTE_DOMAIN = re.compile(r"%\d+")
_ADDRESSES = frozenset(("address", "destination", "source", "gw", "network", "endpoint"))


def link(store: Store, kind: Kind, key: Key) -> str:
    """URL of an item without version: each name follows its collection."""
    if kind.parent is None:
        return f"{ROOT}{kind.url}/{names.encode_segment(key[0])}"
    parent = store.kinds[kind.parent]
    return f"{link(store, parent, key[:-1])}/{kind.last}/{names.encode_segment(key[-1])}"


def collection_link(store: Store, kind: Kind, parent: Key) -> str:
    if kind.parent is None:
        return f"{ROOT}{kind.url}"
    return f"{link(store, store.kinds[kind.parent], parent)}/{kind.last}"


def suffix(store: Store, query: Query | None = None) -> str:
    """`?ver=` of a link; a request's own query is repeated, form-encoded (bigip-behaviour.md A1)."""
    version = f"ver={versions.text(store.version)}"
    shown = {k: v for k, v in (query or {}).items() if k != "ver"}
    return f"?{urlencode(shown, safe='$')}&{version}" if shown else f"?{version}"


def state(kind: Kind, ending: str = "state") -> str:
    """`kind` of a reply: ltm/pool/members -> tm:ltm:pool:members:membersstate."""
    return f"tm:{kind.url.replace('/', ':')}:{kind.last}{ending}"


def render(
    store: Store, item: Item, query: Query | None = None, *, expand: bool = False, bare: bool = False
) -> dict[str, Any]:
    """An item as a reply shows it. bare: the URL named it without a folder (bigip-behaviour.md A1)."""
    kind = store.kinds[item.kind]
    reply: dict[str, Any] = {"kind": state(kind)}
    own = link(store, kind, item.key)
    if bare:
        own = f"{ROOT}{kind.url}/{item.name.rsplit('/', 1)[1]}"
    _identify(reply, item, bare)
    reply["generation"] = item.generation if kind.first_generation is None else kind.first_generation
    reply["selfLink"] = own + suffix(store, query)
    properties = kind.read(store, item)
    referenced = store.version >= versions.REFERENCES
    for name in sorted(properties):
        value = properties[name]
        reply[name] = value
        if referenced and name in kind.links:
            reference = _reference(store, kind, item, name, value)
            if reference is not None:
                reply[f"{name}Reference"] = reference
    for sub in kind.subs:
        _sub_collection(store, reply, item, sub, expand)
    return reply


def _identify(reply: dict[str, Any], item: Item, bare: bool) -> None:
    name = item.name
    if not name.startswith("/") or item.kind.startswith("sys/crypto/"):
        reply["name"] = reply["fullPath"] = name
        return
    if item.kind == "sys/folder":
        _identify_folder(reply, name)
        return
    partition, sub_path, last = names.split(name)
    reply["name"] = last
    if bare:
        reply["fullPath"] = last
        return
    reply["partition"] = partition
    if sub_path:
        reply["subPath"] = sub_path
    reply["fullPath"] = name


def _identify_folder(reply: dict[str, Any], path: str) -> None:
    """The root is called `/`; a partition has subPath `/` and no partition (bigip-behaviour.md B2)."""
    folder, last = names.folder_of(path), path.rsplit("/", 1)[1]
    reply["name"] = last or "/"
    if path != "/" and folder == "/":
        reply["subPath"] = "/"
    elif path != "/":
        partition, sub_path, _ = names.split(path)
        reply["partition"] = partition
        if sub_path:
            reply["subPath"] = sub_path
    reply["fullPath"] = path


def _reference(store: Store, kind: Kind, item: Item, name: str, value: Any) -> Any:
    """The link beside a reference, a list of links for a list; None for `none` and the like."""
    if isinstance(value, (list, tuple)):
        references = [_reference(store, kind, item, name, path) for path in value]
        return [reference for reference in references if reference] or None
    if not isinstance(value, str) or not value.startswith("/"):
        return None
    target = kind.link_target(store, item, name, value)
    if target is None:
        return None
    return {"link": f"{ROOT}{target}/{names.encode_segment(value)}{suffix(store)}"}


def _sub_collection(store: Store, reply: dict[str, Any], item: Item, sub: str, expand: bool) -> None:
    kind = store.kinds[sub]
    if not kind.shown_in_parent(store):
        return
    reference: dict[str, Any] = {
        "link": collection_link(store, kind, item.key) + suffix(store),
        "isSubcollection": True,
    }
    # expanded but empty: no `items` key (bigip-behaviour.md A1)
    children = store.children(sub, item.key) if expand else None
    if children:
        reference["items"] = [render(store, child, expand=True) for child in kind.in_order(children)]
    first, *rest = kind.last.split("-")
    reply[f"{first}{''.join(word.capitalize() for word in rest)}Reference"] = reference


def collection(store: Store, kind: Kind, parent: Key, query: Query) -> dict[str, Any]:
    """A collection with `$filter`, `$top`, `$skip`, `$select`, `expandSubcollections`
    (bigip-behaviour.md A3)."""
    items = kind.in_order(store.children(kind.url, parent)) if kind.parent else store.all(kind.url)
    partition = _filter(store, kind, query)
    if partition is not None:
        items = [item for item in items if _within(store, kind, item, partition)]
    items = _page(store, items, query)
    expand = expands(query)
    rendered = [render(store, item, expand=expand) for item in items]
    if partition is not None:
        rendered = [without_route_domain(store, item_, partition) for item_ in rendered]
    select = query.get("$select")
    if select:
        rendered = [selected(item_, select) for item_ in rendered]
    reply: dict[str, Any] = {
        "kind": state(kind, "collectionstate"),
        "selfLink": collection_link(store, kind, parent) + suffix(store, query),
    }
    if rendered or not store.has(Quirk.EMPTY_ITEMS_ABSENT):
        reply["items"] = rendered
    return reply


def expands(query: Query) -> bool:
    return query.get("expandSubcollections", "").lower() == "true"


def selected(reply: dict[str, Any], select: str) -> dict[str, Any]:
    wanted = [name.strip() for name in select.split(",")]
    return {name: reply[name] for name in wanted if name in reply}


def _filter(store: Store, kind: Kind, query: Query) -> str | None:
    """The partition of `$filter=partition eq P`. Raises: Refusal: another filter, or no such partition."""
    text = query.get("$filter")
    if text is None or (kind.url == "net/fdb/tunnel" and store.has(Quirk.FILTER_IGNORED_BY_FDB)):
        return None
    match = _FILTER.match(text.strip())
    if not match:
        raise refusals.rest(f"The filter ({text}) is not supported by this fake: only partition eq.")
    partition = match[1]
    if store.get("sys/folder", f"/{partition}") is None:
        # status unknown (bigip-behaviour.md A10.4)
        raise refusals.tmsh(f"The requested folder (/{partition}) was not found.")
    return partition


def _within(store: Store, kind: Kind, item: Item, partition: str) -> bool:
    if not item.path.startswith(f"/{partition}/"):
        return False
    if store.has(Quirk.FILTER_EXCLUDES_SUBFOLDERS):
        return names.folder_of(item.path) == f"/{partition}"
    return True


def _page(store: Store, items: list[Item], query: Query) -> list[Item]:
    if store.has(Quirk.TOP_SKIP_IGNORED) or not ("$top" in query or "$skip" in query):
        return items
    try:
        skip, top = int(query.get("$skip", 0)), int(query.get("$top", len(items)))
    except ValueError:
        raise refusals.rest("$top and $skip take numbers.") from None
    return items[skip : skip + top]


def without_route_domain(store: Store, reply: Any, partition: str) -> Any:
    """With `$filter=partition`, addresses of the partition's default route domain lose their %id
    (bigip-behaviour.md A3).

    Most replies have none, which a look at their repr finds in a third of the time.
    """
    if "%" not in repr(reply):
        return reply
    item = store.get("auth/partition", partition)
    own = f"%{item.fields.get('defaultRouteDomain', 0) if item else 0}"

    def strip(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: strip(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [strip(inner, name) for inner in value]
        if name in _ADDRESSES and isinstance(value, str) and "%" in value:
            return _ROUTE_DOMAIN.sub(lambda match: "" if match[0] == own else match[0], value)
        return value

    return strip(reply)
