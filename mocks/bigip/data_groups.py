"""Internal data-groups, with tmsh's verbs on single records (bigip-behaviour.md A2.1, B6)."""

from __future__ import annotations

import functools
import ipaddress
import re

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.pools import refuse_duplicate
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Store

MAX_VALUE = 65520
"""Bytes of a record's data; what is longer is refused (bigip-behaviour.md B10)."""

_TOKEN = re.compile(
    r'\s*(?:(?P<open>\{)|(?P<close>\})|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s{}"\\]|\\.)+))'
)
_ESCAPE = re.compile(r"\\(.)")


class InternalDataGroup(Kind):
    url = "ltm/data-group/internal"
    word = "value list"
    required = ("type",)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        records = fields.get("records") or {}
        if "records" in body or isinstance(records, list):
            records = _records(store, key[0], fields["type"], body.get("records") or [])
        if old is not None and old.fields["type"] != fields["type"] and old.fields["records"]:
            raise refusals.mcpd(
                "0107074b",
                f"Unable to change data group ({key[0]}) type.  Must remove existing entries first.",
            )
        return {**fields, "records": records}

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        """PUT. The type stays if none is sent: it cannot be changed while there are records, and
        f5-common-python leaves it out of updates (f5/bigip/tm/ltm/data_group.py)."""
        return super().replace(store, item, {"records": [], "type": item.fields["type"], **body})

    def change_records(self, store: Store, item: Item, options: str) -> Item:
        """PATCH `?options=records add|modify|delete|replace-all-with { ... }`.

        Raises: Refusal: a syntax error, 409 for a record that is there, 404 for one that is not.
        """
        if store.has(Quirk.RECORD_OPTIONS_REFUSED):
            raise refusals.tmsh(f'"{options.split()[0] if options.split() else ""}" unknown property')
        verb, entries = parse_options(options)
        path, kind = item.path, item.fields["type"]
        records = dict(item.fields["records"])
        for name, data in entries:
            name = _name(store, kind, name)
            shown = f"{path} {name}"
            if verb == "add" and name in records:
                raise refusals.already_exists("class string item", shown, names.partition_of(path))
            if verb in ("modify", "delete") and name not in records:
                raise refusals.not_found("class string item", shown)
            if verb == "delete":
                del records[name]
            elif verb == "add" or data is not None:
                records[name] = _data(data or "")
        if verb == "replace-all-with":
            records = {_name(store, kind, name): _data(data or "") for name, data in entries}
        return store.put(self.url, item.key, {**item.fields, "records": records})

    def read(self, store: Store, item: Item) -> Body:
        fields = dict(item.fields)
        records = fields.pop("records")
        if records:
            shown = list(records.items())
            if not store.has(Quirk.RECORDS_AS_SENT):
                shown.sort(key=_order(fields["type"]))
            fields["records"] = [_shown(store, fields["type"], name, data) for name, data in shown]
        return fields

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("data-group", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")


def _records(store: Store, path: str, kind: str, sent: list) -> dict[str, str]:
    by_name: dict[str, str] = {}
    for record in sent:
        if isinstance(record, str):
            record = {"name": record}
        for property_name in record:
            if property_name not in ("name", "data"):
                raise refusals.unknown_property(property_name)
        name = _name(store, kind, str(record.get("name", "")))
        if name in by_name:
            refuse_duplicate(
                store,
                refusals.already_exists("class string item", f"{path} {name}", names.partition_of(path)),
            )
        by_name[name] = _data(str(record.get("data") or ""))
    return by_name


def _name(store: Store, kind: str, name: str) -> str:
    """A record's key in the form of its type. Raises: Refusal: not of the type."""
    if not name:
        raise refusals.missing("name")
    try:
        if kind == "integer":
            return str(int(name))
        if kind == "ip":
            return _network(store, name)
    except ValueError:
        raise refusals.invalid_value("records", name) from None
    return name


def _network(store: Store, text: str) -> str:
    address, slash, length = text.partition("/")
    address, percent, domain = address.partition("%")
    network = ipaddress.ip_network(f"{address}/{length}" if slash else address, strict=False)
    host = network.prefixlen == network.max_prefixlen
    length = "" if host and store.has(Quirk.IP_HOST_WITHOUT_MASK) else f"/{network.prefixlen}"
    return f"{network.network_address}{percent}{domain}{length}"


def _data(data: str) -> str:
    size = len(data.encode())
    if size > MAX_VALUE:
        raise refusals.mcpd(
            "01070712",
            "Max string size exceeded during update of attribute:data "
            f"type:class_value_item max:{MAX_VALUE} received:{size}",
        )
    return data


def _order(kind: str):
    """Sort key of records: addresses by value, integers by value, strings by text (bigip-behaviour.md B6)."""
    if kind == "ip":
        return lambda record: _network_order(record[0])
    if kind == "integer":
        return lambda record: int(record[0])
    return lambda record: _natural(record[0])


@functools.lru_cache(maxsize=131072)
def _natural(text: str) -> list:
    """useragent9 before useragent10, as recorded on 14.1.2.1; numbers compare before letters."""
    return [
        (0, int(piece), "") if piece.isdigit() else (1, 0, piece)
        for piece in re.split(r"(\d+)", text) if piece
    ]


def _network_order(text: str) -> tuple:
    network = ipaddress.ip_network(re.sub(r"%\d+", "", text))
    return (network.version, int(network.network_address), network.prefixlen)


def _shown(store: Store, kind: str, name: str, data: str) -> dict[str, str]:
    if not data and store.has(Quirk.RECORD_WITHOUT_DATA):
        return {"name": name}
    if "\\" in data and store.has(Quirk.BACKSLASHES_DOUBLED):
        data = data.replace("\\", "\\\\")
    return {"name": name, "data": data}


def parse_options(text: str) -> tuple[str, list[tuple[str, str | None]]]:
    """(verb, [(record, data or None)]) of tmsh's words `records add { k { data v } ... }`.

    Raises: Refusal: syntax error.
    """
    tokens = _tokens(text)
    if len(tokens) < 2 or tokens[0] != ("word", "records"):
        raise refusals.unknown_property(tokens[0][1] if tokens else "")
    verb = tokens[1][1]
    if verb not in ("add", "modify", "delete", "replace-all-with"):
        raise refusals.tmsh(f'"{verb}" unexpected argument')
    if len(tokens) < 4 or tokens[2][0] != "open" or tokens[-1][0] != "close":
        raise refusals.tmsh("The value of records must be in braces")
    return verb, _entries(tokens[3:-1])


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position, text = [], 0, text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise refusals.tmsh(f'"{text[position:]}" unexpected argument')
        position = match.end()
        if match["open"] or match["close"]:
            tokens.append(("open" if match["open"] else "close", match[0].strip()))
        else:
            word = match["quoted"] if match["quoted"] is not None else match["bare"]
            tokens.append(("word", _ESCAPE.sub(r"\1", word)))
    return tokens


def _entries(tokens: list[tuple[str, str]]) -> list[tuple[str, str | None]]:
    entries: list[tuple[str, str | None]] = []
    position = 0
    while position < len(tokens):
        kind, name = tokens[position]
        if kind != "word":
            raise refusals.tmsh(f'"{name}" unexpected argument')
        position += 1
        data: str | None = None
        if position < len(tokens) and tokens[position][0] == "open":
            end = next((i for i in range(position, len(tokens)) if tokens[i][0] == "close"), None)
            if end is None:
                raise refusals.tmsh("missing close brace")
            data = _entry_data(tokens[position + 1 : end])
            position = end + 1
        entries.append((name, data))
    if not entries:
        raise refusals.tmsh("one or more properties must be specified")
    return entries


def _entry_data(tokens: list[tuple[str, str]]) -> str | None:
    if not tokens:
        return None
    words = [word for _, word in tokens]
    if words[0] != "data" or len(words) != 2:
        raise refusals.unknown_property(words[0])
    return words[1]
