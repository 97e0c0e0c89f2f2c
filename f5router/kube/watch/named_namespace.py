"""Looks up the only namespace of a router, before anything in it is read.

The API server lists the Routes of a namespace that does not exist like those of an empty one: with 200 and no
items. So a router with a misspelt name would remove all its objects from the BIG-IP.
Only admission checks that a namespace exists (NamespaceLifecycle), and admission does not see reads.
Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
"""

import difflib
import logging
import threading
from collections.abc import Callable
from urllib.parse import quote

from f5router.kube.api import fields
from f5router.kube.api.collection import Collection
from f5router.kube.api.connection import Connection
from f5router.kube.watch.reflector import METADATA_LIST
from f5router.kube.watch.sources import NAMESPACES
from f5router.model.errors import KubeError, KubeNotFound, KubeUnreachable
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

RETRY = Backoff(first_s=0.5, limit_s=10.0)
"""Waits before the namespace is looked up again."""

FLAG = "--namespace / -n"


def wait_for(connection: Connection, name: str, *, on_absent: Callable[[str], None],
             stopped: threading.Event) -> None:
    """Return when the namespace exists, when the account may not look it up, or when stopped.

    The account of one namespace may have no right on Namespaces: then the check is skipped.

    Args: on_absent: called once with the problem if the namespace does not exist; with "" when it does.
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
            log.info("namespace not checked: a misspelt name would go unnoticed", extra={
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
    """Return the nearest existing name, if Namespaces may be listed and one is similar."""
    namespaces = Collection(connection, NAMESPACES.path(None), {}, stopped=stopped, accept=METADATA_LIST)
    try:
        names = [fields.key(item).name for item in namespaces.values()]
    except (KubeError, fields.DecodeError):
        return ""
    near = difflib.get_close_matches(name, names, n=1)
    return f"; the nearest name is {near[0]!r}" if near else ""
