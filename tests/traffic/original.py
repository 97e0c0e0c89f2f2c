"""Objects that the original F5 router (openshift/router, pkg/router/f5, up to release-3.11) leaves.

Every object is made by REST calls of its kind and order; its iRule is one of our own that does the same.
Whatever the partition is, certificates, profiles and data-groups lie in /Common.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.builders import Identity
from tests.feature.conftest import Lab

INSECURE, SECURE = "openshift_insecure_routes", "openshift_secure_routes"
IRULE = "openshift_passthrough_irule"
GROUPS = ("ssl_reencrypt_route_dg", "ssl_reencrypt_servername_dg", "ssl_passthrough_route_dg",
          "ssl_passthrough_servername_dg")

TEXT = """when CLIENT_ACCEPTED {
    TCP::collect
}
when CLIENT_DATA {
    set sni ""
    set hello [TCP::payload]
    binary scan $hello cS kind version
    if { $kind == 22 && $version >= 769 && $version <= 771 } {
        set at 43
        binary scan $hello @${at}c size
        set at [expr { $at + 1 + ($size & 0xff) }]
        binary scan $hello @${at}S size
        set at [expr { $at + 2 + ($size & 0xffff) }]
        binary scan $hello @${at}c size
        set at [expr { $at + 3 + ($size & 0xff) }]
        while { $at + 4 <= [string length $hello] } {
            binary scan $hello @${at}SS type size
            if { $type == 0 } {
                set begin [expr { $at + 9 }]
                binary scan $hello @[expr { $at + 7 }]S size
                binary scan $hello @${begin}a${size} sni
                break
            }
            set at [expr { $at + 4 + ($size & 0xffff) }]
        }
    }
    if { $sni ne "" } {
        set sni [string tolower $sni]
        SSL::disable serverside
        if { [class match $sni equals ssl_passthrough_servername_dg] } {
            pool [class match -value $sni equals ssl_passthrough_servername_dg]
            SSL::disable
            HTTP::disable
        } elseif { [class match $sni equals ssl_reencrypt_servername_dg] } {
            pool [class match -value $sni equals ssl_reencrypt_servername_dg]
            SSL::enable serverside
        }
    }
    TCP::release
}"""


@dataclass
class Original:
    """Its device side."""

    site: Lab
    partition: str = "/Common"
    legacy: bool = True
    """As its VxLAN mode writes policies, and as an upgrade to 12.1 and newer leaves them."""
    records: dict[str, dict[str, str]] = field(default_factory=lambda: {name: {} for name in GROUPS})

    def _post(self, path: str, **body: object) -> None:
        self.site.change("POST", path, body)

    def _id(self, name: str) -> str:
        return f"{self.partition}/{name}".replace("/", "~")

    def start(self) -> None:
        """Do what it does when it starts."""
        for policy, virtual in ((INSECURE, "ose-vserver"), (SECURE, "https-ose-vserver")):
            legacy = {"legacy": True} if self.legacy else {}
            self._post("ltm/policy", name=policy, partition=self.partition.strip("/"), strategy="best-match",
                       controls=["forwarding"], requires=["http"], **legacy)
            self._post(f"ltm/policy/{self._id(policy)}/rules", name="default_noop")
            self._post(f"ltm/virtual/{self._id(virtual)}/policies", name=f"{self.partition}/{policy}")
        for group in GROUPS:
            self._post("ltm/data-group/internal", name=group, type="string")
        self._post("ltm/rule", name=IRULE, partition=self.partition.strip("/"), apiAnonymous=TEXT)
        self.site.change("PATCH", f"ltm/virtual/{self._id('https-ose-vserver')}",
                         {"rules": [f"{self.partition}/{IRULE}"]})

    def pool(self, service: str, members: Iterable[str], *, namespace: str = "shop") -> None:
        """The pool that every Service with endpoints has."""
        name = f"openshift_{namespace}_{service}"
        self._post("ltm/pool", name=name, partition=self.partition.strip("/"),
                   loadBalancingMode="round-robin", monitor="min 1 of /Common/http /Common/https")
        for member in members:
            self._post(f"ltm/pool/{self._id(name)}/members", name=member)

    def route(self, name: str, host: str, service: str, *, kind: str = "", path: str = "",
              insecure: str = "", pair: Identity | None = None, destination_ca: str = "",
              namespace: str = "shop") -> None:
        """A Route, as it adds one."""
        stem, pool = f"openshift_route_{namespace}_{name}", f"openshift_{namespace}_{service}"
        if kind == "passthrough":
            self._record("ssl_passthrough", host, pool, stem)
            return
        if kind:
            self._rule(SECURE, stem, host, path, pool)
            if pair is not None:
                self._certificates(stem, host, pair, destination_ca)
        if kind == "reencrypt" and pair is not None:
            self._record("ssl_reencrypt", host, pool, stem)
        if not kind or (kind == "edge" and insecure == "Allow"):
            self._rule(INSECURE, stem, host, path, pool)

    def _rule(self, policy: str, stem: str, host: str, path: str, pool: str) -> None:
        rules = f"ltm/policy/{self._id(policy)}/rules"
        self._post(rules, name=stem)
        common = {"caseInsensitive": True, "equals": True, "request": True}
        self._post(f"{rules}/{stem}/conditions", name="0", httpHost=True, host=True, index=0, values=[host],
                   **common)
        for at, segment in enumerate(path.split("/")):
            if segment:
                self._post(f"{rules}/{stem}/conditions", name=str(at), httpUri=True, pathSegment=True,
                           index=at, values=[segment], **common)
        self._post(f"{rules}/{stem}/actions", name="0", forward=True, pool=f"{self.partition}/{pool}",
                   request=True, select=True, vlanId=0)

    def _certificates(self, stem: str, host: str, pair: Identity, destination_ca: str) -> None:
        self.site.install("cert", f"{stem}-https-cert", pair.certificate)
        self.site.install("key", f"{stem}-https-key", pair.key)
        self._post("ltm/profile/client-ssl", name=f"{stem}-client-ssl-profile", serverName=host,
                   cert=f"{stem}-https-cert.crt", key=f"{stem}-https-key.key")
        profiles = f"ltm/virtual/{self._id('https-ose-vserver')}/profiles"
        self._post(profiles, name=f"{stem}-client-ssl-profile", partition="Common", context="clientside")
        if destination_ca:
            self.site.install("cert", f"{stem}-https-chain", destination_ca)
            self._post("ltm/profile/server-ssl", name=f"{stem}-server-ssl-profile", serverName=host,
                       chain=f"{stem}-https-chain.crt")
            self._post(profiles, name=f"{stem}-server-ssl-profile", partition="Common", context="serverside")

    def _record(self, kind: str, host: str, pool: str, stem: str) -> None:
        for group, name, data in ((f"{kind}_servername_dg", host, pool), (f"{kind}_route_dg", stem, host)):
            self.records[group][name] = data
            self.site.change("PATCH", f"ltm/data-group/internal/{group}",
                             {"records": _records(self.records[group])})


def _records(by_name: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "data": data} for name, data in sorted(by_name.items())]
