"""Several front ends: the entries of a file, each with settings of its virtual servers and what it serves.

Fields have the names of the settings that they stand for. The settings of the router apply to what an entry
leaves out.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from f5router.config import cluster_settings, device, front_end_options, placement_options
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.kube.settings import StatusSettings
from f5router.model import label_selector
from f5router.model.errors import ConfigError
from f5router.model.front_end_names import named
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.sources.front_ends import FrontEndSelection
from f5router.sources.settings import KINDS, parse_class

FILE, ADDRESS = "front-ends", "f5-vserver-address"
DEFAULT = "default"
"""Name of the entry whose objects have the names that they have without a file."""
MOST = 50
"""Entries of a file."""
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,30}[a-z0-9])?")

_OPTIONS = tuple(option.name for option in (*front_end_options.OPTIONS, *placement_options.OPTIONS)
                 if option.name not in ("repair-disabled", FILE))
_SERVERS = {"f5-http-vserver", "f5-https-vserver", *_OPTIONS}
_SELECTORS, _SOURCES, _CLASSES = ("labels", "namespace-labels"), "sources", "ingress-classes"
_ROUTER, _HOSTNAME = "router-name", "router-canonical-hostname"
FIELDS = frozenset({"name", *_SERVERS, *_SELECTORS, _SOURCES, _CLASSES, _ROUTER, _HOSTNAME})
"""Names of all fields of an entry."""


@dataclass(frozen=True, slots=True)
class FrontEnds:
    """Front ends of the file; without one, that of the flags."""

    own: tuple[FrontEnd, ...] = ()
    """The front end that the flags describe, or the entry DEFAULT; () if an administrator has made it."""
    further: tuple[FrontEnd, ...] = ()
    selections: tuple[FrontEndSelection, ...] = ()
    statuses: tuple[tuple[str, StatusSettings], ...] = ()
    """Settings of the statuses of Routes, by front end; () without a file."""

    @property
    def all(self) -> FrontEndSet:
        """The front ends without what they select."""
        return FrontEndSet(self.own, self.further)


Reload = Callable[[Callable[[str], str]], FrontEnds]
"""Returns the front ends as the file describes them now. Args: a function that returns the text of a path.
Raises: ConfigError."""


def reload(reader: Reader, folder: str, http: str | None, https: str | None,
           status: StatusSettings) -> Reload | None:
    """Return how the file is read again; None without one. Args: as of load()."""
    if not reader.text(FILE):
        return None

    def read(read_file: Callable[[str], str]) -> FrontEnds:
        again = reader.again(read_file)
        known = load(again, folder, http, https, status)
        if again.problems:
            raise ConfigError(again.problems)
        return known

    return read


def load(reader: Reader, folder: str, http: str | None, https: str | None,
         status: StatusSettings) -> FrontEnds:
    """Return the front ends.

    Args:
        http, https: full paths of the virtual servers of the settings.
        status: settings of statuses, which the entries change.
    """
    if not reader.text(FILE):
        return FrontEnds(device.front_ends(reader, http, https))
    if reader.text(ADDRESS):
        reader.problem("the addresses are in the file", FILE, ADDRESS)
    for name in _OPTIONS:
        reader.value(name)  # what is wrong with the settings of all entries
    known, before = FrontEnds(), len(reader.problems)
    for entry in _entries(reader):
        known = _with(known, _FrontEndEntry(reader, entry), folder, (http, https), status)
    if known.selections and not any(each.name == "" for each in known.selections):
        reader.problem(f"no entry is named {DEFAULT}: it has the virtual servers of --f5-http-vserver and "
                       "--f5-https-vserver", FILE)
    if len(reader.problems) == before:
        _check(reader, known)
    return known


def _entries(reader: Reader) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of the file that are mappings with a right name, each name once."""
    text = reader.read(FILE)
    try:
        listed = yaml.safe_load(text) if text is not None else ()
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        reader.problem(f"it is not YAML{f': line {mark.line + 1}' if mark else ''}", FILE)
        return
    if not isinstance(listed, list | tuple) or len(listed) > MOST or (text is not None and not listed):
        reader.problem(f"it must be a list of 1 to {MOST} entries", FILE)
        return
    names = set()
    for number, entry in enumerate(listed, start=1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            reader.problem(f"entry {number} needs a field name: at most 32 small letters, digits and -, "
                           "beginning and ending with a letter or digit", FILE)
        elif name in names:
            reader.problem(f"two entries are named {name}", FILE)
        else:
            names.add(name)
            yield entry


class _FrontEndEntry:
    """One entry: its fields, and the settings with them."""

    def __init__(self, reader: Reader, entry: Mapping[str, Any]):
        label = str(entry["name"])
        self.name = "" if label == DEFAULT else label
        self._given: dict[str, str] = {}
        for field, value in entry.items():
            values = value if isinstance(value, list) else [value]
            if field not in FIELDS:
                reader.problem(f"entry {label}: there is no field {field!r}", FILE)
            elif not all(isinstance(each, str | int | float) for each in values):
                reader.problem(f"entry {label}, {field}: it is neither a text, a number, nor a list", FILE)
            else:
                self._given[field] = ",".join(
                    str(each).lower() if isinstance(each, bool) else str(each) for each in values)
        servers = {field: text for field, text in self._given.items() if field in _SERVERS}
        self.reader = reader.of_entry(f"{OPTIONS[FILE].label}: entry {label}, ", servers)
        self._problem: Callable[[str, Exception], None] = lambda field, exc: reader.problem(
            f"entry {label}, {field}: {exc}", FILE)

    def text(self, field: str, default: str) -> str:
        return self._given.get(field, default)

    def parsed(self, field: str, parse: Any, default: Any) -> Any:
        """Return the value of a field; the default without it, and after a problem."""
        if field not in self._given:
            return default
        try:
            return parse(self._given[field])
        except ValueError as exc:
            self._problem(field, exc)
            return default


def _with(known: FrontEnds, entry: _FrontEndEntry, folder: str, virtuals: tuple[str | None, str | None],
          status: StatusSettings) -> FrontEnds:
    """Return the front ends with that of an entry."""
    if entry.name:
        http, https = (entry.text(f"f5-{scheme}-vserver", named(f"openshift_{scheme}", entry.name))
                       for scheme in ("http", "https"))
        virtuals = f"{folder}/{http}" if http else None, f"{folder}/{https}" if https else None
    created = device.front_ends(entry.reader, *virtuals)
    if entry.name and not created:
        entry.reader.problem("an address is needed", ADDRESS)
    labels, namespaces = (entry.parsed(field, label_selector.parse, ()) for field in _SELECTORS)
    selection = FrontEndSelection(
        entry.name, frozenset(entry.parsed(_SOURCES, cluster_settings.kinds, KINDS)), labels, namespaces,
        entry.parsed(_CLASSES, _classes, frozenset()))
    router = entry.text(_ROUTER, f"{status.router_name}-{entry.name}" if entry.name else status.router_name)
    hostname = entry.parsed(_HOSTNAME, OPTIONS[_HOSTNAME].parse,
                            "" if entry.name else status.canonical_hostname)
    own = known.own if entry.name else created
    further = tuple(replace(each, name=entry.name) for each in created) if entry.name else ()
    return FrontEnds(own, (*known.further, *further), (*known.selections, selection), (
        *known.statuses, (entry.name, replace(status, router_name=router, canonical_hostname=hostname))))


def _classes(text: str) -> frozenset[str]:
    return frozenset(parse_class(each.strip()) for each in text.split(","))


def _check(reader: Reader, known: FrontEnds) -> None:
    """Report places and names that two entries have."""
    owners: dict[str, str] = {}
    for entry, value in _uses(known):
        other = owners.setdefault(value, entry)
        if other != entry:
            reader.problem(f"entries {other} and {entry} have the same {value}", FILE)


def _uses(known: FrontEnds) -> Iterator[tuple[str, str]]:
    """Yield the name of an entry, and each thing that no other entry may have."""
    for each in (*known.own, *known.further):
        for listener in each.listeners():
            yield each.name or DEFAULT, f"address and port: {listener.address} port {listener.port}"
            yield each.name or DEFAULT, f"virtual server: {listener.virtual}"
    for name, settings in known.statuses:
        yield name or DEFAULT, f"router-name: {settings.router_name}"
