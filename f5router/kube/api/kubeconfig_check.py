"""Checks kubeconfig files before the kubernetes package reads them: it reports mistakes as a TypeError.

Source: Kubernetes, kubeconfig (v1) reference: Config has lists of named clusters, contexts and users.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from f5router.model.errors import ConfigError
from f5router.model.texts import printable

LISTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""Lists of a kubeconfig, with the field of their entries."""
SHOWN = 5
"""Names of contexts that a message has."""

Document = Mapping[str, Any]


def check_file(path: str) -> None:
    """Check the form of a file. Raises: ConfigError: it is no kubeconfig. OSError: it cannot be read."""
    if problem := _form(Path(path).read_bytes()):
        raise ConfigError([f"kubeconfig {path}: {problem}"])


def _form(content: bytes) -> str:
    """Return what is wrong with the form of a file, without its content; "" if nothing is."""
    try:
        document = yaml.safe_load(content)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        return f"it is not YAML, at line {mark.line + 1}, column {mark.column + 1}" if mark else _NO_YAML
    except (yaml.YAMLError, UnicodeDecodeError):
        return _NO_YAML
    if document is None:
        return "it is empty"
    if not isinstance(document, dict):
        return "it has no clusters, contexts and users, but something else"
    for name in LISTS:
        entries = document.get(name) or []
        if not isinstance(entries, list):
            return f"{name} is not a list"
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                return f"{name}[{number}] has no name"
    return ""


_NO_YAML = "it is not YAML"


def check_choice(source: str, document: Document, context: str | None, *, has_master: bool) -> None:
    """Check the context that is chosen.

    Args:
        document: merged of files that `check_file` has passed.
        has_master: True if a setting replaces the server of the context.
    Raises: ConfigError: there is none, or its cluster or its user are not there.
    """
    if problem := _choice(document, context, has_master=has_master):
        raise ConfigError([f"kubeconfig {source}: {problem}"])


def _choice(document: Document, context: str | None, *, has_master: bool) -> str:
    chosen = context or document.get("current-context")
    if not chosen:
        return "it has no current-context: choose a context with --context"
    contexts = document.get("contexts") or []
    known = sorted(entry["name"] for entry in contexts)
    if chosen not in known:
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        names = f": it has {', '.join(map(printable, known[:SHOWN]))}{more}" if known else ", and no other"
        return f"there is no context {printable(repr(chosen))} in it{names}"
    fields = _entry(contexts, chosen, "context")
    if fields is None:
        return f"the context {printable(repr(chosen))} is empty"
    cluster = _entry(document.get("clusters") or [], fields.get("cluster"), "cluster")
    if cluster is None:
        return f"the cluster of the context {printable(repr(chosen))} is not in it, or is empty"
    if not has_master and not _is_server(cluster.get("server")):
        return (f"the cluster of the context {printable(repr(chosen))} has no server that is a URL, such as "
                "https://master.example.com:8443")
    users = document.get("users") or []
    if any(entry["name"] == fields.get("user") for entry in users) and _entry(
            users, fields.get("user"), "user") is None:
        return f"the user of the context {printable(repr(chosen))} is empty"
    return ""


def _entry(entries: Sequence[Document], name: object, field: str) -> Document | None:
    """Return the content of a named entry; None if there is none."""
    content = next((entry.get(field) for entry in entries if entry["name"] == name), None)
    return content if isinstance(content, dict) else None


def _is_server(url: object) -> bool:
    try:
        return isinstance(url, str) and bool(parse_url(url).host)
    except LocationParseError:
        return False
