"""Objects of the administrator that virtual servers of a Plan need, and that are not on the BIG-IP.

A BIG-IP refuses a virtual server, or a reference, that names such an object (bigip-behaviour.md B7). These
look-ups are made by commands that look before anything is written, a request for each kind or module.
"""

import logging
from collections.abc import Iterable, Iterator
from functools import cached_property

from f5router.icontrol import pages
from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.model.errors import BigIPError
from f5router.model.ltm import IRule
from f5router.model.net import Tunnel
from f5router.model.placement import (
    FIREWALL,
    LOG_PROFILES,
    RULES,
    FloatingAddress,
    Placement,
    References,
    TransportProfiles,
)
from f5router.model.virtual_server import AUTOMAP, UNTRANSLATED, HTTPProfile, TCPProfile, VirtualServer

log = logging.getLogger(__name__)

VLAN, TRAFFIC_GROUP, SNAT_POOL = "net/vlan", "cm/traffic-group", "ltm/snatpool"
LOCAL_ONLY = "/Common/traffic-group-local-only"
_BOT_DEFENSE, _DOS = "security/bot-defense/profile", "security/dos/profile"
_FIREWALL, _LOG = "security/firewall/policy", "security/log/profile"
_MODULES = {_BOT_DEFENSE: ("asm", "dos"), _DOS: ("afm", "asm", "dos"), _FIREWALL: ("afm",),
            _LOG: ("afm", "asm", "dos")}
"""Modules of which one has to be provisioned, by kind. Source: techdocs.f5.com, BIG-IP ASM and BIG-IP AFM."""
_KINDS = {RULES: ((IRule.KIND,), "iRule", "--f5-irules"),
          FIREWALL: ((_FIREWALL,), "firewall policy", "--f5-firewall-policy"),
          LOG_PROFILES: ((_LOG,), "security log profile", "--f5-security-log-profiles")}
_ONE_CONNECT = (("ltm/profile/one-connect",), "OneConnect profile", "--f5-oneconnect-profile")
_SECURITY = ((_BOT_DEFENSE, _DOS), "profile", "--f5-bot-defense-profile and --f5-dos-profile")
"""Kinds of an object that is referred to, with its word and its setting."""


class NamedObjects:
    """Looks for objects by their full paths; what cannot be read counts as there."""

    def __init__(self, client: Client):
        self._client = client

    def of_server(self, server: VirtualServer, profiles: TransportProfiles) -> str:
        """Return what a virtual server names and the BIG-IP does not have; "" for nothing."""
        for vlan in sorted(server.reach.vlans or ()):
            if self._vlans and vlan not in self._vlans:
                return _missing("VLAN or tunnel", vlan, "--f5-vserver-vlans")
        if profiles.http and not self._has(HTTPProfile.KIND, profiles.http):
            return _missing("HTTP profile", profiles.http, "--f5-http-profile")
        for path in dict.fromkeys(filter(None, (profiles.client_tcp, profiles.server_tcp))):
            if not self._has(TCPProfile.KIND, path):
                return _missing("TCP profile", path, "--f5-tcp-profile")
        if server.translation not in (AUTOMAP, UNTRANSLATED) and not self._has(SNAT_POOL, server.translation):
            return _missing("SNAT pool", server.translation, "--f5-vserver-snat")
        return ""

    def of_references(self, references: References, placement: Placement) -> str:
        """Return what References name and the BIG-IP does not have; "" for nothing."""
        for kind, path in references.entries:
            kinds, word, flag = _KINDS.get(kind, _ONE_CONNECT if path == placement.one_connect else _SECURITY)
            if not any(self._has(each, path) for each in kinds):
                return _missing(word, path, flag, self._without_modules(kinds))
        return ""

    def of_address(self, address: FloatingAddress) -> str:
        """Return the traffic group of an address that the BIG-IP does not have; "" if it has it."""
        if not self._groups or address.traffic_group in (*self._groups, LOCAL_ONLY):
            return ""
        return _missing("traffic group", address.traffic_group, "--f5-vserver-traffic-group")

    @cached_property
    def _vlans(self) -> frozenset[str]:
        """Paths of all VLANs and tunnels; none if they cannot be read."""
        return frozenset((*self._listed(VLAN), *self._listed(Tunnel.KIND)))

    @cached_property
    def _groups(self) -> frozenset[str]:
        return frozenset(self._listed(TRAFFIC_GROUP))

    def _listed(self, kind: str) -> Iterator[str]:
        try:
            yield from map(ltm_codec.path_of, pages.items(self._client, kind, {}))
        except BigIPError as exc:
            log.info("objects of a kind are not known", extra={"kind": kind, "error": str(exc)})

    def _has(self, kind: str, path: str) -> bool:
        try:
            return get_if_there(self._client, item_path(kind, path)) is not None
        except BigIPError as exc:
            log.info("object is not known", extra={"kind": kind, "path": path, "error": str(exc)})
            return True

    def _without_modules(self, kinds: Iterable[str]) -> str:
        """Return that no module for an object of these kinds is provisioned; "" if one is."""
        modules = sorted({module for kind in kinds for module in _MODULES.get(kind, ())})
        if not modules:
            return ""
        try:
            levels = [self._client.get(item_path("sys/provision", module)).get("level") for module in modules]
        except BigIPError:
            return ""
        if any(level not in (None, "none") for level in levels):
            return ""
        return f", and none of the modules {', '.join(modules)} is provisioned"


def _missing(word: str, path: str, flag: str, cause: str = "") -> str:
    return f"{word} {path} does not exist{cause}; create it, or correct {flag}"
