"""Monitors, and the kinds of objects that have one (bigip-behaviour.md B3)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mocks.bigip import names, refusals
from mocks.bigip.kinds import GROUPS, Body, Kind, find_in_group
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store

_MINIMUM = re.compile(r"^min\s+(\d+)\s+of\s+(.*)$")


class Monitored(Kind):
    """Kinds with a `monitor`: a rule over full paths of monitors."""

    unmonitored: tuple[str, ...] = ("", "none", "/Common/none")

    def references(self, item: Item) -> Iterable[Ref]:
        _, monitors = parse_monitor(item.fields.get("monitor"))
        return [("monitor", path) for path in monitors]

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        text = fields.get("monitor")
        if "monitor" in body and text is not None:
            if "{" in text and store.has(Quirk.MONITOR_BRACES_REFUSED):
                raise refusals.tmsh('"{" unknown property')
            minimum, monitors = parse_monitor(text)
            folder = f"/{names.partition_of(key[0])}"
            fields = {
                **fields,
                "monitor": _written(
                    minimum,
                    [
                        path if path in ("none", "default") else _found(store, path, folder)
                        for path in monitors
                    ],
                ),
            }
        if fields.get("monitor") in self.unmonitored:
            fields = {name: value for name, value in fields.items() if name != "monitor"}
        return fields

    def read(self, store: Store, item: Item) -> Body:
        text = item.fields.get("monitor")
        if not text or text == "default":
            return item.fields
        minimum, monitors = parse_monitor(text)
        if minimum:
            shown = f"min {minimum} of {{ {' '.join(monitors)} }}"
        else:
            shown = " and ".join(monitors) + (" " if store.has(Quirk.MONITOR_TRAILING_SPACE) else "")
        return {**item.fields, "monitor": shown}


def parse_monitor(text: str | None) -> tuple[int, list[str]]:
    """(least number of good ones or 0 for all, full paths) of a monitor rule."""
    if not text:
        return 0, []
    match = _MINIMUM.match(text.strip())
    if match:
        return int(match[1]), match[2].replace("{", " ").replace("}", " ").split()
    return 0, [word for word in text.split() if word != "and"]


def _written(minimum: int, monitors: list[str]) -> str:
    return f"min {minimum} of {' '.join(monitors)}" if minimum else " and ".join(monitors)


def _found(store: Store, path: str, folder: str) -> str:
    """Full path of a monitor: a bare name lies in the partition, else in /Common."""
    for candidate in (names.full_path(path, folder), names.full_path(path, "/Common")):
        if find_in_group(store, "monitor", candidate):
            return candidate
    return names.full_path(path, folder)


def check_monitors(store: Store, item: Item, word: str) -> None:
    for path in parse_monitor(item.fields.get("monitor"))[1]:
        if path not in ("none", "default") and not find_in_group(store, "monitor", path):
            raise refusals.foreign_key(path, word, " ".join(item.key), "monitor_FK")


PROFILE_SINCE = (13, 1)


def profile_of(fields: Body) -> str:
    """Full path of the server-ssl profile of an https monitor; "" for none (bigip-behaviour.md B3)."""
    profile = str(fields.get("sslProfile") or "none")
    return "" if profile == "none" else names.full_path(profile, "/Common")


class Monitor(Kind):
    """A monitor of one type; types share one name space."""

    word = "monitor"
    first_generation = 0

    def __init__(self, kind: str) -> None:
        self.url = f"ltm/monitor/{kind}"
        self.factory = f"/Common/{kind.replace('-', '_')}"

    def references(self, item: Item) -> Iterable[Ref]:
        parent, profile = item.fields.get("defaultsFrom"), profile_of(item.fields)
        return [*([("monitor", parent)] if parent else []), *([("profile", profile)] if profile else [])]

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        if "sslProfile" in body and store.version < PROFILE_SINCE:
            raise refusals.unknown_property("sslProfile")
        return super().accept(store, body, key, old)

    def check_references(self, store: Store, item: Item) -> None:
        profile = profile_of(item.fields)
        if profile and store.get("ltm/profile/server-ssl", profile) is None:
            raise refusals.not_found("profile", profile)

    def initial(self, store: Store, key: Key) -> Body:
        defaults = super().initial(store, key)
        return defaults if key[0] == self.factory else {**defaults, "defaultsFrom": self.factory}

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if find_in_group(store, "monitor", key[0]):
            raise refusals.already_exists(self.word, key[0], names.partition_of(key[0]))

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        parent = fields.get("defaultsFrom")
        if parent is None:
            return fields
        parent = names.full_path(parent, "/Common")
        if store.get(self.url, parent) is None:
            raise refusals.mcpd("01070043", f"Monitor {key[0]} parent not found.")
        return {**fields, "defaultsFrom": parent}

    def absent(self, store: Store, key: Key) -> refusals.Refusal:
        if any(store.get(kind, key[0]) for kind in GROUPS["monitor"]):
            return refusals.object_not_found(key[0])
        return refusals.not_found(self.word, key[0])

    def check_unused(self, store: Store, item: Item) -> None:
        if item.path == self.factory or store.is_used("monitor", item.path):
            raise refusals.mcpd("01070083", f"Monitor {item.path} is in use.")
