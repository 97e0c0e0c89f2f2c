"""State of the fake BIG-IP: objects of the router's and of others, files, drafts."""

import json
from collections.abc import Collection, Mapping

from mocks.bigip import FakeBigIP

VOLATILE = frozenset(
    (
        "generation",
        "selfLink",
        "createTime",
        "creationTime",
        "lastModified",
        "lastModifiedTime",
        "lastUpdateTime",
        "revision",
        "sourcePath",
        "systemPath",
        "cachePath",
    )
)
"""Properties that a device counts and dates by itself, and the origin of a file."""
OURS = ("openshift_", "ssl_passthrough_", "ssl_reencrypt_")
TUNNEL = ("/Common/vxlan-ose", "/Common/vxlan5000", "/Common/10.131.0.5/14", "/Common/10.131.2.5/14")
"""The VxLAN device as far as it bears names of the original router, and its self IP on each unit."""
MONITORED = frozenset(("up", "down", "checking", "unchecked", "monitor-enabled", "user-enabled"))
"""State and session of a member or node as monitors leave them."""


def state(bigip: FakeBigIP, *, ours: bool = True) -> dict[str, str]:
    """Return what is on the device, as JSON by kind and name.

    Args: ours: what bears a name of the router's, with the virtual servers; else what is of others, with
        what the router may not change of the virtual servers.
    """
    store, shown_by_name = bigip.store, {}
    with store.lock:
        for name, kind in store.kinds.items():
            for item in () if kind.parent is not None else store.all(name):
                shared = name == "ltm/virtual"
                if not shared and ours != is_ours(name, item.path):
                    continue
                shown = _steady(bigip.shown(item))
                shown |= {text: str(value) for text, value in item.hidden.items() if text == "data"}
                if shared and not ours:
                    shown = {key: shown.get(key) for key in ("destination", "pool", "disabled", "source")}
                if name == "net/route-domain":  # the device itself lists each tunnel there
                    shown = {key: value for key, value in shown.items() if not key.startswith("vlans")}
                shown_by_name[f"{name} {item.path}"] = json.dumps(shown, sort_keys=True)
    return shown_by_name


def leftovers(bigip: FakeBigIP, before: Collection[str]) -> list[str]:
    """Return files on the device's disk that were not there before, drafts, errors of the fake."""
    disk = [path for path in bigip.store.disk if path not in before]
    drafts = [item.path for item in bigip.items("ltm/policy") if "Drafts" in item.path]
    return [
        *(f"file {path}" for path in sorted(disk)),
        *(f"draft {path}" for path in drafts),
        *(f"fake: {error!r}" for error in bigip.errors),
    ]


def is_ours(kind: str, path: str) -> bool:
    """True for an object that the router makes, and for what the device makes with it."""
    return path.rsplit("/", 1)[-1].startswith(OURS) or kind == "ltm/node" or path in TUNNEL


def _steady(value: object) -> object:
    """A reply without what the device counts and dates, and without what its monitors find.

    Items of sub-collections are in order of their names: the device keeps them as they came.
    """
    if isinstance(value, dict):
        kept = {
            name: _steady(each)
            for name, each in value.items()
            if name not in VOLATILE and not (name in ("state", "session") and each in MONITORED)
        }
        if value.get("isSubcollection") and "items" in kept:
            kept["items"] = sorted(kept["items"], key=lambda item: item["name"])
        return kept
    if isinstance(value, list):
        return [_steady(each) for each in value]
    return value


def difference(wanted: Mapping[str, object], present: Mapping[str, object], limit: int = 6) -> list[str]:
    """Return what is missing, too much, or other than wanted; the first few."""
    lines = [f"missing: {name}" for name in wanted if name not in present]
    lines += [f"too much: {name}" for name in present if name not in wanted]
    lines += [
        f"differs: {name}: {_shorter(wanted[name], present[name])}"
        for name in wanted
        if name in present and wanted[name] != present[name]
    ]
    return lines[:limit] + ([f"and {len(lines) - limit} more"] if len(lines) > limit else [])


def _shorter(wanted: object, present: object) -> str:
    """Two values where they begin to differ."""
    expected, other = str(wanted), str(present)
    at = next(
        (i for i, (a, b) in enumerate(zip(expected, other, strict=False)) if a != b),
        min(len(expected), len(other)),
    )
    first = max(at - 40, 0)
    return f"{other[first : at + 80]!r} instead of {expected[first : at + 80]!r}"
