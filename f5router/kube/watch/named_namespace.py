"""Looks up the one namespace that a router is limited to, before anything in it is read.

The API server lists the Routes of a namespace that does not exist as it lists those of an empty one: with 200
and no items. A router with a misspelt name would so take all its objects off the BIG-IP.
Only admission asks whether a namespace exists (NamespaceLifecycle), and admission does not see reads.
Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
"""

import difflib
import logging
import threading
from collections.abc import Callable
from urllib.parse import quote

from f5router.kube.api.collection import Collection
from f5router.kube.api.connection import Connection
from f5router.kube.watch.reflector import METADATA_LIST
from f5router.kube.watch.sources import NAMESPACES
from f5router.model.backoff import Backoff
from f5router.model.errors import KubeError, KubeNotFound, KubeUnreachable

log = logging.getLogger(__name__)

RETRY = Backoff(first_s=0.5, limit_s=10.0)
"""Waits before the namespace is looked up again."""

FLAG = "--namespace / -n"


def wait_for(connection: Connection, name: str, *, on_absent: Callable[[str], None],
             stopped: threading.Event) -> None:
    """Return when the namespace exists, when the account may not look it up, or when stopped.

    An account of one namespace may have no right on Namespaces: the check is skipped then.

    Args: on_absent: called with the reason, once, if the namespace does not exist; with "" when it does.
    """
    absent, failures = "", 0
    while not stopped.is_set():
        try:
            connection.request("GET", f"{NAMESPACES.path(None)}/{quote(name, safe='')}")
        except KubeNotFound:
            if not absent:
                absent = f"{FLAG}: the namespace {name!r} does not exist{_hint(connection, name, stopped)}"
                on_absent(absent)
        except KubeUnreachable as exc:
            connection.outages.failed(NAMESPACES.resource, exc)
        except KubeError as exc:
            log.info("namespace not looked up: a name that does not exist is not noticed", extra={
                "setting": FLAG, "namespace": name, "error": str(exc)})
            break
        else:
            break
        failures += 1
        stopped.wait(RETRY.jittered_s(failures))
    connection.outages.answered(NAMESPACES.resource)
    if absent and not stopped.is_set():
        on_absent("")


def _hint(connection: Connection, name: str, stopped: threading.Event) -> str:
    """The nearest existing name, where Namespaces may be listed and one is near."""
    found = Collection(connection, NAMESPACES.path(None), {}, stopped=stopped, accept=METADATA_LIST)
    try:
        names = [text for item in found.values() if isinstance(text := _name(item), str)]
    except KubeError:
        return ""
    near = difflib.get_close_matches(name, names, n=1)
    return f"; the nearest name is {near[0]!r}" if near else ""


def _name(item: object) -> object:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return metadata.get("name") if isinstance(metadata, dict) else None
