"""Options that show in the answers of a Route, each with a value of its own: nobody gets those of others."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from tests.differential.haproxy_config import HAPROXY, ROUTER

CIS = "virtual-server.f5.com/"
HASHED = "a hash"
PAGE = "down"
"""X-Page of the administrator's page for status 503."""
GLOBAL = "everywhere"
"""X-Global of each pod's answer, which the administrator sets."""
SPECIAL = '"[$x]" {{ ;'
"""Behind a mark in a header: what would be more than text in Tcl or JSON."""


@dataclass(frozen=True)
class Marks:
    """Options of a Route as a client and its pod see them."""

    answered: str = ""
    """X-Answered of the answer."""
    asked: str = ""
    """X-Asked of the request that the pod gets."""
    hsts: str = ""
    cookie: str = ""
    """Name of the session cookie."""
    target: str = ""
    """Path that the pod gets."""
    is_forwarded: bool = False
    """True if the pod gets to know the client."""
    administrator: str = ""
    """X-Global of the answer."""


def marked(route: dict, mark: str, *, number: int = 1, forwarded: str = "append", **annotations: str) -> dict:
    """Give a Route options with a mark. Args: annotations: more of them, by name."""
    route["metadata"]["annotations"] = {
        f"{ROUTER}cookie_name": f"cookie-{mark}", f"{HAPROXY}hsts_header": f"max-age={number}",
        f"{HAPROXY}set-forwarded-headers": forwarded,
        f"{ROUTER}cookie-same-site": ("Lax", "Strict", "None")[number % 3],
        f"{ROUTER}haproxy.health.check.interval": f"{5 + number}s",
        f"{HAPROXY}timeout": f"{60 + number}s",
        **{f"{HAPROXY}{name}": text for name, text in annotations.items()}}

    def setting(name: str) -> dict:
        return {"name": name, "action": {"type": "Set", "set": {"value": f"{mark} {SPECIAL}"}}}
    route["spec"]["httpHeaders"] = {"actions": {
        "request": [setting("X-Asked"), {"name": "X-Gone", "action": {"type": "Delete"}}],
        "response": [setting("X-Answered")]}}
    return route


def cis(route: dict, **annotations: str) -> dict:
    """Add annotations of Container Ingress Services to a Route, by name."""
    route["metadata"].setdefault("annotations", {}).update(
        {f"{CIS}{name.replace('_', '-')}": text for name, text in annotations.items()})
    return route


def app_root(route: Mapping) -> str:
    """Return where a request for / is redirected to; "" for nowhere."""
    text = route["metadata"].get("annotations", {}).get(f"{CIS}rewrite-app-root", "")
    return text if route["spec"].get("path", "") in ("", "/") else ""


def expected(route: Mapping, path: str) -> Marks:
    """Return the marks of an answer to a request that a Route gets, by docs/routes.md."""
    texts, spec = route["metadata"].get("annotations", {}), route["spec"]
    kind, prefix = (spec.get("tls") or {}).get("termination", ""), spec.get("path", "")
    if kind == "passthrough":
        return Marks(target=path)
    actions = (spec.get("httpHeaders") or {}).get("actions") or {}
    sets = {item["name"]: item["action"]["set"]["value"] for side in actions.values() for item in side
            if item["action"]["type"] == "Set"}
    has_cookie = (texts.get(f"{HAPROXY}disable_cookies") != "true"
                  and texts.get(f"{HAPROXY}balance") != "source")
    target, rest = texts.get(f"{HAPROXY}rewrite-target", ""), path.removeprefix(prefix)
    if prefix and not target:
        target = texts.get(f"{CIS}rewrite-target-url", "")
    return Marks(
        answered=sets.get("X-Answered", ""), asked=sets.get("X-Asked", ""),
        hsts=texts.get(f"{HAPROXY}hsts_header", "") if kind else "",
        cookie=texts.get(f"{ROUTER}cookie_name", HASHED) if has_cookie else "",
        target=target + (rest.removeprefix("/") if target == "/" else rest) if target else path,
        is_forwarded=texts.get(f"{HAPROXY}set-forwarded-headers") != "never", administrator=GLOBAL)


def problem(allowed: Collection[Marks], headers: Mapping[str, str], pod: Mapping) -> str:
    """Return what is wrong with an answer of a pod: each mark has to be one of those that are allowed."""
    seen = _observed(headers, pod)
    for field in fields(Marks):
        value, values = getattr(seen, field.name), {getattr(marks, field.name) for marks in allowed}
        # Port 80 of a Route with TLS has no HSTS.
        if value not in values and not (field.name == "hsts" and not value):
            return f"{field.name} is {value!r}, not one of {sorted(map(str, values))}"
    return ""


def _observed(headers: Mapping[str, str], pod: Mapping) -> Marks:
    received = {name.lower(): value for name, value in pod["headers"]}
    cookie = headers.get("set-cookie", "").partition("=")[0]
    return Marks(
        headers.get("x-answered", ""), received.get("x-asked", ""),
        headers.get("strict-transport-security", ""),
        HASHED if re.fullmatch("[0-9a-f]{32}", cookie) else cookie, pod["target"], "forwarded" in received,
        headers.get("x-global", ""))
