"""End points that are no collections: version, readiness, save and shell.

`bigip-rest.md` A6, A7, A8.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable
from typing import Any

from mocks.bigip import refusals, unit, versions
from mocks.bigip.rendering import suffix
from mocks.bigip.requests import Request
from mocks.bigip.store import Store

Answer = dict[str, Any] | None
Handler = Callable[[Store, Request], Answer]

_BUILDS = {
    (14, 1, 2, 1): ("0.0.4", "Point Release 1", "Tue Sep 17 15:44:32 PDT 2019"),
    (16, 0, 0): ("0.0.12", "Final", "Tue Jun 23 18:31:26 PDT 2020"),
}


def _stats(store: Store, url: str, entries: dict[str, str]) -> Answer:
    last = url.rsplit("/", 1)[1]
    return {
        "kind": f"tm:{url.replace('/', ':')}:{last}stats",
        "selfLink": f"https://localhost/mgmt/tm/{url}{suffix(store)}",
        "entries": {
            f"https://localhost/mgmt/tm/{url}/0": {
                "nestedStats": {"entries": {name: {"description": value} for name, value in entries.items()}}
            }
        },
    }


def version(store: Store, request: Request) -> Answer:
    build, edition, date = _BUILDS.get(store.version, ("0.0.1", "Final", "Mon Jan  1 00:00:00 PST 2018"))
    return _stats(
        store,
        "sys/version",
        {
            "Build": build,
            "Date": date,
            "Edition": edition,
            "Product": "BIG-IP",
            "Title": "Main Package",
            "Version": versions.text(store.version),
        },
    )


def ready(store: Store, request: Request) -> Answer:
    if store.version < versions.SYS_READY:
        raise refusals.rest("Found unexpected URI tmapi_mapper/sys/ready.")
    config_ready = "yes" if store.ready else "no"
    return _stats(
        store, "sys/ready", {"configReady": config_ready, "licenseReady": "yes", "provisionReady": "yes"}
    )


def mcp_state(store: Store, request: Request) -> Answer:
    return _stats(
        store,
        "sys/mcp-state",
        {
            "endPlatformIdReceived": "true",
            "lastLoad": "full-config-load-succeed",
            "phase": "running" if store.ready else "platform",
        },
    )


def failover(store: Store, request: Request) -> Answer:
    text = f"Failover {store.unit.status.lower()} for 1d 02:03:04\n"
    return {
        "kind": "tm:sys:failover:failoverstats",
        "selfLink": f"https://localhost/mgmt/tm/sys/failover{suffix(store)}",
        "apiRawValues": {"apiAnonymous": text},
    }


def global_settings(store: Store, request: Request) -> Answer:
    return {
        "kind": "tm:sys:global-settings:global-settingsstate",
        "selfLink": f"https://localhost/mgmt/tm/sys/global-settings{suffix(store)}",
        "hostname": unit.HOSTNAME,
        "guiSetup": "disabled",
        "mgmtDhcp": "enabled",
    }


def provision(store: Store, request: Request) -> Answer:
    items = [
        {
            "kind": "tm:sys:provision:provisionstate",
            "name": name,
            "fullPath": name,
            "generation": 1,
            "selfLink": f"https://localhost/mgmt/tm/sys/provision/{name}{suffix(store)}",
            "cpuRatio": 0,
            "diskRatio": 0,
            "level": level,
            "memoryRatio": 0,
        }
        for name, level in (("afm", "none"), ("asm", "none"), ("ltm", "nominal"))
    ]
    return {
        "kind": "tm:sys:provision:provisioncollectionstate",
        "selfLink": f"https://localhost/mgmt/tm/sys/provision{suffix(store)}",
        "items": items,
    }


READ: dict[str, Handler] = {
    "sys/version": version,
    "sys/ready": ready,
    "sys/mcp-state": mcp_state,
    "sys/failover": failover,
    "sys/global-settings": global_settings,
    "sys/provision": provision,
}
"""GET below /mgmt/tm."""


def config(store: Store, request: Request) -> Answer:
    body = request.body()
    if body.get("command") != "save":
        raise refusals.tmsh(f'"{body.get("command")}" unexpected argument')
    store.save()
    return {
        "kind": "tm:sys:config:savestate",
        **{k: v for k, v in body.items() if k in ("command", "options")},
    }


def bash(store: Store, request: Request) -> Answer:
    """util/bash: `-c 'rm [-f] file ...'` alone; anything else fails as text with 200 (A7)."""
    body, arguments = _utility(request)
    if arguments[:1] != ["-c"] or len(arguments) != 2:
        return {"kind": "tm:util:bash:runstate", **body, "commandResult": "/bin/bash: no command\n"}
    words = shlex.split(arguments[1])
    if words[:1] != ["rm"]:
        text = f"/bin/bash: {words[0] if words else ''}: command not found\n"
        return {"kind": "tm:util:bash:runstate", **body, "commandResult": text}
    return {"kind": "tm:util:bash:runstate", **body, **_removed(store, words[1:])}


def unix_rm(store: Store, request: Request) -> Answer:
    body, arguments = _utility(request)
    return {"kind": "tm:util:unix-rm:runstate", **body, **_removed(store, arguments)}


def _utility(request: Request) -> tuple[dict[str, Any], list[str]]:
    body = request.body()
    if body.get("command") != "run":
        raise refusals.tmsh(f'"{body.get("command")}" unexpected argument')
    try:
        return {k: body[k] for k in ("command", "utilCmdArgs") if k in body}, shlex.split(
            body.get("utilCmdArgs", "")
        )
    except ValueError:
        raise refusals.tmsh("unmatched quote") from None


def _removed(store: Store, arguments: list[str]) -> dict[str, str]:
    force = any(word.startswith("-") and "f" in word for word in arguments)
    missing = []
    for word in arguments:
        if word.startswith("-"):
            continue
        if store.disk.pop(posixpath.normpath(word), None) is None:
            missing.append(word)
    if missing and not force:
        return {
            "commandResult": "".join(
                f"rm: cannot remove '{one}': No such file or directory\n" for one in missing
            )
        }
    return {}


COMMANDS: dict[str, Handler] = {"sys/config": config, "util/bash": bash, "util/unix-rm": unix_rm}
"""POST below /mgmt/tm."""
