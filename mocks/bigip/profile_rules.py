"""Rules on which profiles, policies and iRules of a virtual server fit together (bigip-behaviour.md B7).

A virtual server may have thousands of client-ssl profiles. So every check of them asks the reverse index
(who else has this server name here?) and none walks through the list, but the one beside an HTTP/2 profile.
"""

from __future__ import annotations

from mocks.bigip import irules, names, policies, profiles, refusals
from mocks.bigip.kinds import Body
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Store

PROFILES = "ltm/virtual/profiles"
POLICIES = "ltm/virtual/policies"
SIDES = ("clientside", "serverside")
HTTP_EVENT_OTHER = "01070394"
"""Another number for an iRule whose events need a profile: see the quirk."""
_SINGLE = frozenset((
    "http", "tcp", "udp", "fastl4", "one-connect", "http-compression", "websocket", "web-security", "http2",
    "request-log", "httprouter", "bot-defense", "dos"))
"""Types of which a virtual server has at most one for each side."""
_REQUIRED = {
    "http": ("http", "http or http-connect"),
    "client-ssl": ("client-ssl", "client-ssl"),
    "server-ssl": ("server-ssl", "server-ssl"),
    "tcp": ("tcp", "tcp"),
    "udp": ("udp", "udp"),
    "asm": ("web-security", "websecurity"),
}
"""Aspect of a policy's `requires`, or its control asm -> (type that satisfies it, words of the message)."""
_NOT_BESIDE_FASTL4 = frozenset(profiles.WORDS) - {"fastl4", "dos"}
_ON_HTTP = frozenset(("http-compression", "request-log", "websocket", "bot-defense"))
"""Types that need an http profile beside them."""


def check_partition(virtual: str, several: str, path: str) -> None:
    """Refuse what lies in another partition than the virtual server and not in /Common.

    For iRules: measured on 21.1.0.1 (bitwisecook/tcl-lsp); for the other kinds inferred. Args: several: the
    kind, in the plural. Raises: Refusal: 01070726.
    """
    if names.partition_of(path) not in (names.partition_of(virtual), "Common"):
        raise refusals.mcpd(
            "01070726",
            f"A virtual server may only reference {several} in the same partition or the common partition "
            f"({virtual}:{path})",
        )


def check_whole(store: Store, path: str) -> None:
    """Rules on a virtual server's types of profiles, policies and iRules. Raises: Refusal."""
    item = store.get("ltm/virtual", path)
    if item is None:
        return
    types = {kind for kind in profiles.WORDS if store.is_used("profile type", f"{path} {kind}")}
    _check_transport(store, item, types)
    _check_needs(path, types)
    if "http2" in types:
        _check_http2(store, path, types)
    several = store.count_users("profile type", f"{path} client-ssl") > 1
    if (
        several
        and not store.is_used("sni default", f"{path} client-ssl")
        and not store.has(Quirk.NO_SNI_DEFAULT_ACCEPTED)
    ):
        # the number stands in teaching material only (bigip-behaviour.md B12.2)
        raise refusals.mcpd(
            "0107149c", f"Virtual server {path} must have one clientssl profile that is default for SNI."
        )
    _check_policies(store, item, types)
    _check_persistence(store, item, types)
    if item.fields.get("persist"):
        types.add("persist")
    code = HTTP_EVENT_OTHER if store.has(Quirk.HTTP_EVENT_01070394) else irules.NEEDS_PROFILE
    for rule in item.fields.get("rules", ()):
        text = store.get("ltm/rule", rule).fields.get("apiAnonymous", "")
        irules.check_profiles(rule, path, text, types, code)


def _check_transport(store: Store, item: Item, types: set[str]) -> None:
    """FastL4 is alone; else each side has one of TCP, UDP and SCTP.

    Sources: F5Networks/f5-ansible#34 (FastL4), F5Networks/f5-appsvcs-templates#10 (a side without one).
    """
    path = item.path
    if "fastl4" in types and types & _NOT_BESIDE_FASTL4:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: Not Any Of (FastL4 Profile, FastHTTP Profile)"
        )
    if "http" in types and "tcp" not in types:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: HTTP Profile needs a TCP Profile"
        )
    other = {"tcp": "udp", "udp": "tcp"}.get(item.fields["ipProtocol"])
    if other in types:
        # the device's text is not known
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: {profiles.WORDS[other]} is not for its ip-protocol"
        )
    if not types or "fastl4" in types:
        return
    for side in SIDES:
        count = sum(store.is_used("profile side", f"{path} {kind} {side}") for kind in ("tcp", "udp"))
        words = ", ".join(f"{word} Profile ({side})" for word in ("UDP", "TCP", "SCTP"))
        if not count:
            raise refusals.configuration_error(
                f"Less than the required minimum number of profiles found on {path}: Exactly 1 of ({words})"
            )
        if count > 1:
            # the device's text is not known
            raise refusals.configuration_error(
                f"More than the allowed number of profiles found on {path}: Exactly 1 of ({words})"
            )


def _check_needs(path: str, types: set[str]) -> None:
    """Profiles that work on HTTP need an http profile. The device's texts are not known."""
    for kind in sorted(types & _ON_HTTP):
        if "http" not in types:
            raise refusals.configuration_error(
                f"Found disallowed profile on {path}: {profiles.WORDS[kind]} needs an HTTP Profile"
            )


def _check_persistence(store: Store, item: Item, types: set[str]) -> None:
    """Cookies are in HTTP (K83419154). The number is from memory of the device's users."""
    paths = [names.from_body(entry) for entry in item.fields.get("persist", ())]
    if any(store.get("ltm/persistence/cookie", path) for path in paths) and "http" not in types:
        raise refusals.mcpd(
            "01070309",
            "Cookie persistence requires an HTTP or FastHTTP profile to be associated with the virtual "
            "server",
        )


def _check_http2(store: Store, path: str, types: set[str]) -> None:
    """Check what an HTTP/2 profile asks of the others. F5 shows refusals as pictures: their text is unknown.

    Source: F5, DevCentral, "Understanding how BIG-IP enforces TLS requirements on HTTP/2 Profile".
    """
    fields: dict[str, list[Body]] = {"http2": [], "client-ssl": []}
    for item in store.children(PROFILES, (path,)).values():
        if (kind := item.fields["type"]) in fields:
            profile = store.get(f"ltm/profile/{kind}", item.key[1])
            fields[kind].append(store.kinds[f"ltm/profile/{kind}"].effective(store, profile))
    if not {"http", "client-ssl"} <= types:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: HTTP2 Profile needs an HTTP and a ClientSSL Profile")
    if any(http2["enforceTlsRequirements"] == "enabled" for http2 in fields["http2"]) and any(
            client["renegotiation"] != "disabled" for client in fields["client-ssl"]):
        raise refusals.configuration_error(
            f"HTTP2 profile on {path} requires client SSL profiles with renegotiation disabled")


def _check_policies(store: Store, item: Item, types: set[str]) -> None:
    seen: dict[str, str] = {}
    for name in store.children(POLICIES, item.key):
        policy = store.get("ltm/policy", name)
        if not store.children(policies.RULES, policy.key):
            # the device's text is not known (bigip-behaviour.md B12.3)
            raise refusals.configuration_error(
                f"Policy {name} has no rules and cannot be attached to {item.path}"
            )
        needs = {*policy.fields.get("requires", ()), *policies.dependencies(store, name)}
        if "asm" in policy.fields.get("controls", ()):
            needs.add("asm")
        for aspect in sorted(needs & _REQUIRED.keys()):
            enough, words = _REQUIRED[aspect]
            if enough not in types:
                raise refusals.mcpd(
                    "010716d9",
                    f"Virtual server {item.path} requires a profile of type {words} for ltm policy {name}.",
                )
        for control in policy.fields.get("controls", ()):
            if control in seen:
                raise refusals.configuration_error(
                    f"Virtual server {item.path} cannot contain policies with "
                    f"conflicting controls ({seen[control]}, {name})"
                )
            seen[control] = name


def check_profile(store: Store, key: Key) -> None:
    """Rules on one attached profile beside the others. Raises: Refusal."""
    item = store.get(PROFILES, *key)
    if item is None:
        return
    path, kind = item.path, item.fields["type"]
    if kind in _SINGLE:
        for side in sides(item.fields["context"]):
            if store.count_users("profile side", f"{path} {kind} {side}") > 1:
                raise refusals.mcpd("01070097", f"Virtual server {path} lists duplicate profiles.")
    host = item.fields.get("serverName")
    if host and store.count_users("server name", f"{path} {kind} {host}") > 1:
        raise refusals.mcpd(
            "0107149e",
            f"Virtual server {path} has more than one clientssl/serverssl profile with same server name.",
        )
    if item.fields.get("sniDefault") and store.count_users("sni default", f"{path} {kind}") > 1:
        raise refusals.mcpd(
            "01071809",
            f"Virtual Server {path} has more than one clientssl/serverssl profile that is default for SNI.",
        )


def sides(context: str) -> tuple[str, ...]:
    """The sides of a context."""
    return SIDES if context == "all" else (context,)
