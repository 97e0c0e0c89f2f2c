"""End points that are no collections: version, readiness, licence, clock, save and shell.

bigip-behaviour.md A6, A7, A8.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from mocks.bigip import refusals, unit, versions
from mocks.bigip.quirks import Quirk
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
        "hostname": store.unit.hostname,
        "guiSetup": "disabled",
        "mgmtDhcp": "enabled",
    }


def management_ip(store: Store, request: Request) -> Answer:
    """Addresses of the management port; each is the name of its object, with the length of its prefix."""
    name = f"{unit.management(store.unit.number)}/24"
    path = "https://localhost/mgmt/tm/sys/management-ip"
    item = {"kind": "tm:sys:management-ip:management-ipstate", "name": name, "fullPath": name,
            "generation": 1, "selfLink": f"{path}/{name.replace('/', '~')}{suffix(store)}",
            "description": "configured-statically"}
    return {"kind": "tm:sys:management-ip:management-ipcollectionstate",
            "selfLink": f"{path}{suffix(store)}", "items": [item]}


def clock(store: Store, request: Request) -> Answer:
    """sys/clock in UTC, as recorded on 14.1.2.1 and 16.0.0 (CiscoTestAutomation/genieparser)."""
    now = datetime.fromtimestamp(store.clock(), UTC)
    return _stats(store, "sys/clock", {"fullDate": now.strftime("%Y-%m-%dT%H:%M:%SZ")})


def licence(store: Store, request: Request) -> Answer:
    """sys/license: the form of a licensed 13.0.0, and what an unlicensed 13.1.1 answers.

    Sources: f5devcentral/f5-automation-labs, "BIG-IP Module Provisioning"; for the text without a licence,
    F5 Stethoscope, "Retrieve BIG-IP License Information".
    """
    if store.licence is None:
        return {
            "kind": "tm:sys:license:licensestats",
            "selfLink": f"https://localhost/mgmt/tm/sys/license{suffix(store)}",
            "apiRawValues": {"apiAnonymous": "Can't load license, may not be operational\n"},
        }
    url = "https://localhost/mgmt/tm/sys/license/0"
    dates = {name: {"description": text} for name, text in store.licence.dates.items()}
    features = " ".join(f'"{name}"' for name in store.licence.features)
    module = {"featureModules": {"description": f"{{ {features} }}"},
              "key": {"description": "A000000-0000000"}}
    modules = {f"{url}/active-modules/%22LTM,%20VE%22": {"nestedStats": {"entries": module}}}
    entries = {**dates, "registrationKey": {"description": "AAAAA-BBBBB-CCCCC-DDDDD-EEEEEEE"},
               f"{url}/active-modules": {"nestedStats": {"entries": modules}}}
    return {
        "kind": "tm:sys:license:licensestats",
        "selfLink": f"https://localhost/mgmt/tm/sys/license{suffix(store)}",
        "entries": {url: {"nestedStats": {"entries": entries}}},
    }


_HARDWARE = {
    "chassis-info": {"maxMacCount": 1, "regKey": "-"},
    "platform": {"baseMac": "00:0c:29:00:00:01", "biosRev": " ", "cloudName": " ",
                 "hypervisorName": "VMware Virtual Platform", "marketingName": "BIG-IP Virtual Edition"},
    "system-info": {"bigipChassisSerialNum": "00000000-0000-0000-000000000001", "hostBoardPartRevNum": " ",
                    "hostBoardSerialNum": " ", "platform": "Z100", "project_200LevelBomNum": " ",
                    "switchBoardPartRevNum": " ", "switchBoardSerialNum": " "},
}  # fmt: skip
"""As recorded on 14.1.2.1, without disks and processors."""


def hardware(store: Store, request: Request) -> Answer:
    url = "https://localhost/mgmt/tm/sys/hardware"
    entries = {}
    for component, values in _HARDWARE.items():
        shown = {k: {"value" if isinstance(v, int) else "description": v} for k, v in values.items()}
        inner = {f"{url}/{component}/0": {"nestedStats": {"entries": shown}}}
        entries[f"{url}/{component}"] = {"nestedStats": {"entries": inner}}
    return {"kind": "tm:sys:hardware:hardwarestats", "selfLink": f"{url}{suffix(store)}", "entries": entries}


READ: dict[str, Handler] = {
    "sys/version": version,
    "sys/ready": ready,
    "sys/mcp-state": mcp_state,
    "sys/failover": failover,
    "sys/global-settings": global_settings,
    "sys/hardware": hardware,
    "sys/management-ip": management_ip,
    "sys/clock": clock,
    "sys/license": licence,
}
"""GET below /mgmt/tm."""


def readable(version: versions.Version) -> set[str]:
    """Return those of READ that a version has."""
    return set(READ) - (set() if version >= versions.SYS_READY else {"sys/ready"})


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
    """util/bash: `-c 'rm [-f] file ...'` alone; anything else fails as text with 200
    (bigip-behaviour.md A7)."""
    body, arguments = _utility(request)
    if arguments[:1] != ["-c"] or len(arguments) != 2:
        return {"kind": "tm:util:bash:runstate", **body, "commandResult": "/bin/bash: no command\n"}
    words = shlex.split(arguments[1])
    if words[:1] != ["rm"]:
        text = f"/bin/bash: {words[0] if words else ''}: command not found\n"
        return {"kind": "tm:util:bash:runstate", **body, "commandResult": text}
    return {"kind": "tm:util:bash:runstate", **body, **_removed(store, words[1:], "rm")}


def unix_rm(store: Store, request: Request) -> Answer:
    """util/unix-rm: no `commandResult` on success, else the words of rm with 200 (bigip-behaviour.md A7)."""
    body, arguments = _utility(request)
    if store.has(Quirk.RM_ONE_PATH):
        arguments = [" ".join(arguments)]
    return {"kind": "tm:util:unix-rm:runstate", **body, **_removed(store, arguments, "/bin/rm")}


def unix_ls(store: Store, request: Request) -> Answer:
    """util/unix-ls: a file's path, or the names in a folder, one a line; no `commandResult` for an empty one.

    Source: f5-common-python, f5/bigip/tm/util/test/functional/test_unix_ls.py: what fails has 200 and a text
    that begins with /bin/ls; an option is a 400 from 12.0 on (the end of that sentence is unknown).
    """
    body, arguments = _utility(request)
    lines: list[str] = []
    for word in arguments:
        if word.startswith("-"):
            if store.version >= (12,):
                raise refusals.rest(f"unix-ls does not support {word}")
            lines = [f"/bin/ls: invalid option -- {word[1:]}"]
            break
        lines += _listed(store, posixpath.normpath(word))
    result = {"commandResult": "".join(f"{line}\n" for line in lines)} if lines else {}
    return {"kind": "tm:util:unix-ls:runstate", **body, **result}


def _listed(store: Store, path: str) -> list[str]:
    """Lines of ls. A folder is what is known as one, or holds a file."""
    if path in store.disk:
        return [path]
    start = f"{path}/"
    below = {file.removeprefix(start).split("/")[0] for file in store.disk if file.startswith(start)}
    if not below and path not in _FOLDERS:
        return [f"/bin/ls: cannot access {path}: No such file or directory"]
    return sorted(below)


_FOLDERS = frozenset(("/config", "/shared", "/tmp", "/var", "/var/config/rest/downloads", "/var/tmp"))
"""Those that are there also without a file of ours."""


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


def _removed(store: Store, arguments: list[str], program: str) -> dict[str, str]:
    """Remove files; the words of rm about those that it cannot remove, {} for none."""
    force = any(word.startswith("-") and "f" in word for word in arguments)
    words = ""
    for file in (word for word in arguments if not word.startswith("-")):
        path = posixpath.normpath(file)
        if store.disk.pop(path, None) is not None:
            continue
        if path in _FOLDERS or any(other.startswith(f"{path}/") for other in store.disk):
            words += f"{program}: cannot remove '{file}': Is a directory\n"
        elif not force:
            words += f"{program}: cannot remove '{file}': No such file or directory\n"
    return {"commandResult": words} if words else {}


COMMANDS: dict[str, Handler] = {
    "sys/config": config,
    "util/bash": bash,
    "util/unix-ls": unix_ls,
    "util/unix-rm": unix_rm,
}
"""POST below /mgmt/tm."""
