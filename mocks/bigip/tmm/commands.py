"""Commands of TMM that need nothing of the connection: data-groups, numbers of members, text, the log.

Source: tmsh reference, ltm rule commands class, active_members, members, getfield, findstr, substr, log, md5,
sha1, b64encode, b64decode.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Callable, Iterable

from mocks.bigip import names, selection
from mocks.bigip.store import Item, Store
from mocks.bigip.tmm.rules import TclError, Unsupported

_GROUP = "ltm/data-group/internal"
_SPECIAL = frozenset(' \t\n\r;"$[]{}\\#')
Records = dict[str, str]


def store_command(store: Store, rule_folder: str, name: str, args: list[bytes]) -> bytes:
    """Result of a command in a rule that lies in rule_folder.

    Raises: TclError: it fails on the device, too. Unsupported: not a command of these, or a form of one
    that is not known here.
    """
    command = _COMMANDS.get(name)
    if command is None:
        raise Unsupported(f"the command {name}")
    words = [arg.decode(errors="surrogateescape") for arg in args]
    with store.lock:
        result = command(store, rule_folder, words)
    return result.encode(errors="surrogateescape")


def _wrong_arguments(form: str) -> TclError:
    return TclError(f'wrong # args: should be "{form}"')


# -- data-groups -----------------------------------------------------------------------------------

_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "equals": str.__eq__,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
}


def _class(store: Store, folder: str, words: list[str]) -> str:
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb in ("match", "search"):
        return _match(store, folder, rest, reverse=verb == "search")
    if verb == "exists" and len(rest) == 1:
        return str(int(_find(store, folder, rest[0]) is not None))
    if verb == "lookup" and len(rest) == 2:
        return _first(_group(store, folder, rest[1]), rest[0], "equals", reverse=False)[1]
    if verb == "size" and len(rest) == 1:
        return str(len(_group(store, folder, rest[0]).fields["records"]))
    if verb == "type" and len(rest) == 1:
        return str(_group(store, folder, rest[0]).fields["type"])
    if verb in ("names", "get") and len(rest) == 1:
        records = _group(store, folder, rest[0]).fields["records"]
        return tcl_list(records if verb == "names" else (tcl_list(record) for record in records.items()))
    raise Unsupported(f"class {' '.join(words)}")


def _match(store: Store, folder: str, words: list[str], *, reverse: bool) -> str:
    """`match ?-name|-value|-element? ?--? ITEM OPERATOR GROUP`; `search` has the group first, and applies
    the operator to the record. Anything that begins with - before the item is taken for an option."""
    wanted = ""
    while words and words[0].startswith("-"):
        option, *words = words
        if option == "--":
            break
        if option not in ("-name", "-value", "-element"):
            raise Unsupported(f"class match {option}")
        wanted = option
    if len(words) != 3:
        raise _wrong_arguments("class match ?options? item operator class")
    item, operator, group = (words[2], words[1], words[0]) if reverse else words
    if operator not in _OPERATORS:
        raise TclError(f'bad operator "{operator}"')
    name, value = _first(_group(store, folder, group), item, operator, reverse=reverse)
    if wanted == "-element":
        return tcl_list((name, value)) if name else ""
    return {"": str(int(bool(name))), "-name": name, "-value": value}[wanted]


def _first(group: Item, item: str, operator: str, *, reverse: bool) -> tuple[str, str]:
    """(name, data) of the record that matches, the most specific of several
    (bigip-behaviour.md B6); ("", "") for none."""
    records: Records = group.fields["records"]
    if group.fields["type"] == "ip":
        return _address(records, item)
    if operator == "equals":
        return (item, records[item]) if item in records else ("", "")
    test = _OPERATORS[operator]
    matches = [name for name in records if (test(name, item) if reverse else test(item, name))]
    if not matches:
        return "", ""
    name = max(matches, key=len)
    return name, records[name]


def _address(records: Records, item: str) -> tuple[str, str]:
    try:
        address = ipaddress.ip_address(item.partition("%")[0])
    except ValueError:
        raise TclError(f'bad IP address format "{item}"') from None
    networks = {ipaddress.ip_network(name.partition("%")[0]): name for name in records}
    matches = [network for network in networks if network.version == address.version and address in network]
    if not matches:
        return "", ""
    name = networks[max(matches, key=lambda network: network.prefixlen)]
    return name, records[name]


def _find(store: Store, folder: str, name: str) -> Item | None:
    """A bare name lies in the folder of the rule, else in /Common (bigip-behaviour.md B5)."""
    return store.get(_GROUP, names.full_path(name, folder)) or store.get(
        _GROUP, names.full_path(name, "/Common")
    )


def _group(store: Store, folder: str, name: str) -> Item:
    group = _find(store, folder, name)
    if group is None:
        raise TclError(f"Could not find data group: {name}")
    return group


def tcl_list(words: Iterable[str]) -> str:
    """A Tcl list."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word and not set(word) & _SPECIAL:
        return word
    depth, least = 0, 0
    for char in word:
        depth += (char == "{") - (char == "}")
        least = min(least, depth)
    if depth == least == 0 and "\\" not in word:
        return f"{{{word}}}"
    return "".join({"\n": "\\n"}.get(char, f"\\{char}" if char in _SPECIAL else char) for char in word)


# -- pools -----------------------------------------------------------------------------------------


def _active_members(store: Store, folder: str, words: list[str]) -> str:
    return _members(store, folder, words, selection.members)


def _all_members(store: Store, folder: str, words: list[str]) -> str:
    def members(store: Store, pool: str) -> Iterable[str]:
        children = store.children("ltm/pool/members", (pool,))
        return [child.name.rsplit("/", 1)[1] for child in children.values()]

    return _members(store, folder, words, members)


def _members(
    store: Store, folder: str, words: list[str], members: Callable[[Store, str], Iterable[str]]
) -> str:
    """`?-list? POOL`: their number, or a list of {address port}."""
    listed = words[:1] == ["-list"]
    if len(words) != 1 + listed:
        raise _wrong_arguments("active_members ?-list? pool")
    pool = names.full_path(words[-1], folder)
    if store.get("ltm/pool", pool) is None:
        raise TclError(f"no such pool: {words[-1]}")
    pool_members = list(members(store, pool))
    if not listed:
        return str(len(pool_members))
    return tcl_list(tcl_list(member.rsplit(":" if member.count(":") == 1 else ".", 1))
                    for member in pool_members)


# -- text ------------------------------------------------------------------------------------------


def _getfield(store: Store, folder: str, words: list[str]) -> str:
    if len(words) != 3:
        raise _wrong_arguments("getfield string split field")
    text, separator, number = words[0], words[1], _number(words[2])
    parts = text.split(separator) if separator else [text]
    return parts[number - 1] if 1 <= number <= len(parts) else ""


def _findstr(store: Store, folder: str, words: list[str]) -> str:
    if not 2 <= len(words) <= 4:
        raise _wrong_arguments("findstr string search_string ?skip_count? ?terminator?")
    text, wanted, *rest = words
    at = text.find(wanted)
    return _cut(text[at:], rest or ["0"]) if at >= 0 else ""


def _substr(store: Store, folder: str, words: list[str]) -> str:
    if not 2 <= len(words) <= 3:
        raise _wrong_arguments("substr string skip_count ?terminator?")
    return _cut(words[0], words[1:])


def _cut(text: str, words: list[str]) -> str:
    """The text behind skip_count characters, up to a terminator: a length or a string."""
    skip = _number(words[0])
    if skip < 0:
        raise Unsupported(f"skip_count {skip}")
    text = text[skip:]
    if len(words) < 2:
        return text
    if words[1].isdigit():
        return text[: int(words[1])]
    return text.partition(words[1])[0] if words[1] else text


def _number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise TclError(f'expected integer but got "{word}"') from None


def _md5(store: Store, folder: str, words: list[str]) -> str:
    """The digest, in 16 bytes."""
    if len(words) != 1:
        raise _wrong_arguments("md5 string")
    digest = hashlib.md5(words[0].encode(errors="surrogateescape"), usedforsecurity=False).digest()
    return digest.decode(errors="surrogateescape")


def _sha1(store: Store, folder: str, words: list[str]) -> str:
    """The digest, in 20 bytes."""
    if len(words) != 1:
        raise _wrong_arguments("sha1 string")
    digest = hashlib.sha1(words[0].encode(errors="surrogateescape"), usedforsecurity=False).digest()
    return digest.decode(errors="surrogateescape")


def _b64encode(store: Store, folder: str, words: list[str]) -> str:
    if len(words) != 1:
        raise _wrong_arguments("b64encode string")
    return base64.b64encode(words[0].encode(errors="surrogateescape")).decode()


def _b64decode(store: Store, folder: str, words: list[str]) -> str:
    """The bytes that a text stands for."""
    if len(words) != 1:
        raise _wrong_arguments("b64decode string")
    try:
        return base64.b64decode(words[0], validate=True).decode(errors="surrogateescape")
    except ValueError:
        raise TclError("b64decode: no base64") from None


def _log(store: Store, folder: str, words: list[str]) -> str:
    if words[:1] == ["-noname"]:
        words = words[1:]
    if not 1 <= len(words) <= 2:
        raise Unsupported(f"log {' '.join(words)}")
    store.irule_log.append(words[-1])
    return ""


_COMMANDS: dict[str, Callable[[Store, str, list[str]], str]] = {
    "class": _class,
    "active_members": _active_members,
    "members": _all_members,
    "getfield": _getfield,
    "findstr": _findstr,
    "substr": _substr,
    "b64decode": _b64decode,
    "b64encode": _b64encode,
    "md5": _md5,
    "sha1": _sha1,
    "log": _log,
}
