"""Commands of tmsh, typed as they stand, as requests to the fake's iControl REST."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

KINDS = tuple(kind.split() for kind in (
    "ltm profile client-ssl", "ltm profile server-ssl", "ltm virtual", "ltm virtual-address",
    "ltm node", "ltm snatpool", "auth partition", "auth user", "sys provision", "sys db"))
OPERATORS = (";", "&&")

Items = list[tuple[str, dict[str, Any]]]


def run(lab, line: str) -> None:
    """Run the commands of a line; an object that is there already is not created again."""
    for words in _commands(line):
        assert words[0] == "tmsh", words
        if words[1:3] == ["run", "cm"]:
            lab.change("POST", "cm", {"command": "run", "utilCmdArgs": " ".join(words[3:])})
            continue
        kind = next(kind for kind in KINDS if words[2:2 + len(kind)] == kind)
        name, rest = words[2 + len(kind)], words[3 + len(kind):]
        _change(lab, words[1], "/".join(kind), name, rest)


def _commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if word in OPERATORS:
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _change(lab, verb: str, kind: str, name: str, rest: Sequence[str]) -> None:
    body: dict[str, Any] = {}
    item = f"{kind}/{name.replace('/', '~')}"
    words = iter(rest)
    for word in words:
        if (kind, word) == ("ltm/virtual", "enabled"):
            body[word] = True  # the one property without a value
            continue
        value = next(words)
        if word == "profiles" and verb == "modify":
            _attach(lab, item, value, _items(words))
        elif word == "profiles":
            assert value == "add"
            body[word] = [{"name": _full(profile), **fields} for profile, fields in _items(words)]
        elif word == "partition-access":
            assert value == "replace-all-with"
            body["partitionAccess"] = [{"name": each, **fields} for each, fields in _items(words)]
        elif word == "members":
            assert value == "add"
            old = (lab.bigip.get(item) or {"members": []})["members"]
            body[word] = [*old, *(_full(each) for each, _ in _items(words))]
        elif value == "{":
            body[_camel(word)] = _properties(words)
        else:
            body[_camel(word)] = _full(value) if word == "defaults-from" else value
    if verb == "modify":
        if body:
            lab.change("PATCH", item, body)
    elif lab.bigip.get(item) is None:
        lab.change("POST", kind, {"name": name, **body})


def _attach(lab, item: str, action: str, profiles: Items) -> None:
    for name, fields in profiles:
        if action == "add":
            lab.change("POST", f"{item}/profiles", {"name": _full(name), **fields})
        else:
            assert action == "delete"
            lab.change("DELETE", f"{item}/profiles/{_full(name).replace('/', '~')}")


def _items(words: Iterator[str]) -> Items:
    """Read names, each perhaps with properties, up to the closing brace."""
    first = next(words)
    assert first == "{"
    items: Items = []
    for word in words:
        if word == "}":
            return items
        if word == "{":
            items[-1] = (items[-1][0], _properties(words))
        else:
            items.append((word, {}))
    raise AssertionError("a brace is not closed")


def _properties(words: Iterator[str]) -> dict[str, str]:
    properties = {}
    for word in words:
        if word == "}":
            return properties
        properties[_camel(word)] = next(words)
    raise AssertionError("a brace is not closed")


def _full(name: str) -> str:
    return name if name.startswith("/") else f"/Common/{name}"


def _camel(name: str) -> str:
    first, *others = name.split("-")
    return first + "".join(word.title() for word in others)
