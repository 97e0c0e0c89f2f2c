"""Calls of three clients that were written for a device, as tables: (method, path, body, status).

- ROUTER: the F5 plug-in of OpenShift 3's router (openshift/router before 23fa8c0c0, pkg/router/f5/f5.go).
- SDK: f5-common-python 3.0.21, as its classes spell the calls (package f5-sdk of PyPI).
- CCCL: f5devcentral/f5-cccl, f5_cccl/bigip.py and f5_cccl/resource/, which calls by way of f5-sdk.

Paths are below /mgmt/tm unless they begin with a slash. `{p}` stands for the partition's path in a URL.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Call(NamedTuple):
    method: str
    path: str
    body: dict[str, Any] | None = None
    status: int = 200


VIRTUALS = [
    {"name": "ose-vserver", "destination": "10.0.0.1:80", "profiles": ["/Common/tcp", "/Common/http"]},
    {"name": "https-ose-vserver", "destination": "10.0.0.1:443",
     "profiles": ["/Common/tcp", "/Common/http", "/Common/clientssl", "/Common/serverssl"]},
]  # fmt: skip
"""What an administrator makes before the router starts."""

FILES = ("R-https-cert.cert", "R-https-key.key", "R-https-chain.cert")
"""What the router copies to /var/tmp over ssh before it installs them."""

IRULE = """
when CLIENT_ACCEPTED {
  TCP::collect
}

when CLIENT_DATA {
  set names {}
  for { set at 0 }
      { 3 - $at == abs(3 - $at) }
      { incr at } {
    lappend names $at
  }
  if { [class match "a" equals ssl_passthrough_servername_dg] } {
    pool [class match -value "a" equals ssl_passthrough_servername_dg]
    SSL::disable
    HTTP::disable
  }
  elseif { [class match "a" equals ssl_reencrypt_servername_dg] } {
    pool [class match -value "a" equals ssl_reencrypt_servername_dg]
    SSL::enable serverside
  }
  TCP::release
}
"""
"""Laid out as the router's."""


def _policy(name: str, *, legacy: bool) -> list[Call]:
    path = f"/Common/{name}"
    where = {"tmPartition": "/Common", "legacy": True} if legacy else {"partition": "/Common"}
    body = {"name": path, "controls": ["forwarding"], "requires": ["http"], "strategy": "best-match", **where}
    return [
        Call("GET", f"ltm/policy/{{p}}~{name}", status=404),
        Call("POST", "ltm/policy", body),
        Call("POST", f"ltm/policy/{{p}}~{name}/rules", {"name": "default_noop"}),
    ]


def _attach(virtual: str, policy: str) -> list[Call]:
    url = f"ltm/virtual/{{p}}~{virtual}/policies"
    body = {"name": f"/Common/{policy}", "partition": "/Common", "fullPath": ""}
    return [Call("GET", url), Call("POST", url, body)]


GROUPS = ("ssl_reencrypt_route_dg", "ssl_reencrypt_servername_dg", "ssl_passthrough_route_dg",
          "ssl_passthrough_servername_dg")  # fmt: skip


def _start(*, legacy: bool) -> list[Call]:
    groups = [
        call
        for name in GROUPS
        for call in (
            Call("GET", f"ltm/data-group/internal/{name}", status=404),
            Call("POST", "ltm/data-group/internal", {"name": name, "type": "string", "records": None}),
        )
    ]
    return [
        Call("GET", "sys/folder/{p}"),
        *_policy("openshift_insecure_routes", legacy=legacy),
        *_attach("ose-vserver", "openshift_insecure_routes"),
        *_policy("openshift_secure_routes", legacy=legacy),
        *groups,
        *_attach("https-ose-vserver", "openshift_secure_routes"),
        Call("GET", "ltm/rule/{p}~openshift_passthrough_irule", status=404),
        Call("POST", "ltm/rule", {"name": "openshift_passthrough_irule", "partition": "/Common",
                                  "apiAnonymous": IRULE}),
        Call("GET", "ltm/virtual/{p}~https-ose-vserver"),
        Call("PATCH", "ltm/virtual/{p}~https-ose-vserver",
             {"rules": ["/Common/openshift_passthrough_irule"]}),
    ]  # fmt: skip


def _add_rule(policy: str, host: str, segments: tuple[str, ...] = ()) -> list[Call]:
    rules = f"ltm/policy/{{p}}~{policy}/rules"
    common = {"caseInsensitive": True, "equals": True, "request": True}
    conditions = [{"name": "0", "httpHost": True, "host": True, "index": 0, "values": [host], **common}]
    conditions += [
        {"name": str(at), "httpUri": True, "pathSegment": True, "index": at, "values": [segment], **common}
        for at, segment in enumerate(segments, 1)
    ]
    action = {"name": "0", "forward": True, "pool": "/Common/openshift_ns_web", "request": True,
              "select": True, "vlanId": 0}  # fmt: skip
    return [
        Call("POST", rules, {"name": "R"}),
        *(Call("POST", f"{rules}/R/conditions", condition) for condition in conditions),
        Call("POST", f"{rules}/R/actions", action),
        Call("GET", rules),
    ]


POOL = {"loadBalancingMode": "round-robin", "monitor": "min 1 of /Common/http /Common/https",
        "partition": "/Common", "name": "openshift_ns_web"}  # fmt: skip

_ENDPOINTS = [
    Call("GET", "ltm/pool/{p}~openshift_ns_web/members", status=404),
    Call("POST", "ltm/pool", POOL),
    Call("POST", "ltm/pool/{p}~openshift_ns_web/members", {"name": "10.1.1.1:8080"}),
    Call("POST", "ltm/pool/{p}~openshift_ns_web/members", {"name": "10.1.1.2:8080"}),
    Call("POST", "ltm/pool/{p}~openshift_ns_web/members", {"name": "10.1.1.2:8080"}, 409),
    Call("DELETE", "ltm/pool/{p}~openshift_ns_web/members/10.1.1.2:8080"),
]


def _install(kind: str, name: str, file: str) -> Call:
    body = {"command": "install", "name": name, "from-local-file": f"/var/tmp/{file}"}
    return Call("POST", f"sys/crypto/{kind}", body)


_SECURE = [
    *_add_rule("openshift_secure_routes", "www.example.com"),
    _install("cert", "R-https-cert", "R-https-cert.cert"),
    _install("key", "R-https-key", "R-https-key.key"),
    Call("POST", "ltm/profile/client-ssl", {
        "cert": "R-https-cert.crt", "key": "R-https-key.key", "name": "R-client-ssl-profile",
        "serverName": "www.example.com"}),
    Call("POST", "ltm/virtual/{p}~https-ose-vserver/profiles",
         {"context": "clientside", "name": "R-client-ssl-profile"}),
    _install("cert", "R-https-chain", "R-https-chain.cert"),
    Call("POST", "ltm/profile/server-ssl",
         {"chain": "R-https-chain.crt", "name": "R-server-ssl-profile", "serverName": "www.example.com"}),
    Call("POST", "ltm/virtual/{p}~https-ose-vserver/profiles",
         {"context": "serverside", "name": "R-server-ssl-profile"}),
    Call("GET", "ltm/data-group/internal/ssl_reencrypt_servername_dg"),
    Call("GET", "ltm/data-group/internal/ssl_reencrypt_route_dg"),
    Call("PATCH", "ltm/data-group/internal/ssl_reencrypt_servername_dg",
         {"records": [{"name": "www.example.com", "data": "openshift_ns_web"}]}),
    Call("PATCH", "ltm/data-group/internal/ssl_reencrypt_route_dg",
         {"records": [{"name": "R", "data": "www.example.com"}]}),
]  # fmt: skip

_GONE = [
    Call("GET", "ltm/policy/{p}~openshift_secure_routes/rules"),
    *(
        call
        for side in ("server", "client")
        for call in (
            Call("DELETE", f"ltm/virtual/{{p}}~https-ose-vserver/profiles/R-{side}-ssl-profile"),
            Call("DELETE", f"ltm/profile/{side}-ssl/R-{side}-ssl-profile"),
        )
    ),
    Call("DELETE", "sys/file/ssl-key/R-https-key.key"),
    Call("DELETE", "sys/file/ssl-cert/R-https-cert.crt"),
    Call("DELETE", "sys/file/ssl-cert/R-https-chain.crt"),
    Call("DELETE", "ltm/policy/{p}~openshift_secure_routes/rules/R"),
    Call("PATCH", "ltm/data-group/internal/ssl_reencrypt_servername_dg", {"records": []}),
    Call("PATCH", "ltm/data-group/internal/ssl_reencrypt_route_dg", {"records": []}),
    Call("DELETE", "ltm/pool/{p}~openshift_ns_web", status=400),
    Call("DELETE", "ltm/policy/{p}~openshift_insecure_routes/rules/R"),
    Call("DELETE", "ltm/pool/{p}~openshift_ns_web/members/10.1.1.1:8080"),
    Call("DELETE", "ltm/pool/{p}~openshift_ns_web/members/10.1.1.1:8080", status=404),
    Call("DELETE", "ltm/pool/{p}~openshift_ns_web"),
]

_INSECURE = _add_rule("openshift_insecure_routes", "www.example.com", ("foo", "bar"))

ROUTER = [*_start(legacy=False), *_ENDPOINTS, *_INSECURE, *_SECURE, *_GONE]
"""Start on a new device, Endpoints, a Route without TLS, one with re-encryption, and their removal."""

_TUNNEL = {"name": "vxlan5000", "partition": "/Common", "key": 0, "localAddress": "10.3.89.213",
           "mode": "bidirectional", "mtu": "0", "profile": "/Common/vxlan-ose", "tos": "preserve",
           "transparent": "disabled", "usePmtu": "enabled"}  # fmt: skip
_SELF = {"name": "10.131.0.5/14", "partition": "/Common", "address": "10.131.0.5/14",
         "addressSource": "from-user", "floating": "disabled", "inheritedTrafficGroup": "false",
         "trafficGroup": "/Common/traffic-group-local-only", "unit": 0, "vlan": "/Common/vxlan5000",
         "allowService": "all"}  # fmt: skip
_VXLAN = {"name": "vxlan-ose", "partition": "/Common", "floodingType": "multipoint", "port": 4789}

_NODES = [
    Call("GET", "sys/folder/{p}"),
    Call("POST", "net/fdb/tunnel/{p}~vxlan5000/records",
         {"name": "0a:0a:0a:01:02:ff", "endpoint": "10.1.2.255"}),
    Call("POST", "net/fdb/tunnel/{p}~vxlan5000/records",
         {"name": "0a:0a:0a:01:02:ff", "endpoint": "10.1.2.255"}, 409),
    Call("DELETE", "net/fdb/tunnel/{p}~vxlan5000/records/0a:0a:0a:01:02:ff"),
    Call("DELETE", "net/fdb/tunnel/{p}~vxlan5000/records/0a:0a:0a:01:02:ff", status=404),
]  # fmt: skip

ROUTER_VXLAN = [
    *_start(legacy=True),
    *(Call("POST", url, body) for url, body in (
        ("net/tunnels/vxlan", _VXLAN), ("net/tunnels/tunnel", _TUNNEL), ("net/self", _SELF))),
    *(Call("POST", url, body, 409) for url, body in (
        ("net/tunnels/vxlan", _VXLAN), ("net/tunnels/tunnel", _TUNNEL), ("net/self", _SELF))),
    *_NODES, *_ENDPOINTS, *_INSECURE, *_SECURE, *_GONE,
]  # fmt: skip
"""The same with native VXLAN, twice started."""

_EXPANDED = "?$filter=partition+eq+P&expandSubcollections=true"

_REFERENCE = {"isSubcollection": True}
MEMBER = {"name": "10.0.0.1%0:80", "partition": "P", "ratio": 1, "connectionLimit": 0, "priorityGroup": 0,
          "session": "user-enabled", "description": None}  # fmt: skip
_CCCL_POOL = {"name": "pool", "partition": "P", "loadBalancingMode": "round-robin", "description": None,
              "monitor": "default", "membersReference": {**_REFERENCE, "items": [MEMBER]}}  # fmt: skip
_CCCL_POLICY = {
    "name": "policy", "partition": "P", "strategy": "/Common/first-match", "legacy": True,
    "controls": ["forwarding"], "requires": ["http"],
    "rules": [{
        "name": "r0", "partition": "", "description": None, "ordinal": 0,
        "conditions": [{"name": "0", "partition": None, "request": True, "httpHost": True, "host": True,
                        "equals": True, "values": ["a.example"]},
                       {"name": "1", "partition": None, "request": True, "httpUri": True, "pathSegment": True,
                        "index": 1, "equals": True, "values": ["x"]}],
        "actions": [{"name": "0", "partition": None, "request": True, "forward": True, "pool": "/P/pool"}],
    }, {
        "name": "r1", "partition": "", "description": None, "ordinal": 1, "conditions": [],
        "actions": [{"name": "0", "partition": None, "request": True, "redirect": True, "httpReply": True,
                     "location": "tcl:https://[getfield [HTTP::host] \":\" 1][HTTP::uri]"}],
    }],
}  # fmt: skip
_CCCL_VIRTUAL = {
    "name": "virtual", "partition": "P", "destination": "/P/10.0.0.5%0:80", "source": "0.0.0.0%0/0",
    "ipProtocol": "tcp", "enabled": True, "vlansDisabled": True, "vlans": [], "connectionLimit": 0,
    "sourceAddressTranslation": {"type": "automap"}, "mask": "255.255.255.255", "pool": "/P/pool",
    "policies": [{"name": "policy", "partition": "P"}], "rules": [],
    "profiles": [{"name": "http", "partition": "Common", "context": "all"},
                 {"name": "tcp", "partition": "Common", "context": "all"}],
}  # fmt: skip
_CCCL_ADDRESS = {"name": "10.0.0.5", "partition": "P", "address": "10.0.0.5%0", "autoDelete": "false",
                 "enabled": None, "description": None, "trafficGroup": "/Common/traffic-group-1",
                 "metadata": []}  # fmt: skip


def _refresh() -> list[Call]:
    """f5_cccl/bigip.py: read the partition. f5-sdk asks for sys/ when it connects."""
    monitors = ("http", "https", "tcp", "udp", "gateway-icmp")
    plain = ("sys/application/service", "ltm/node", "ltm/virtual-address", "ltm/rule",
             "ltm/data-group/internal", *(f"ltm/monitor/{name}" for name in monitors))  # fmt: skip
    return [
        Call("GET", "sys/"),
        Call("GET", "auth/partition/P"),
        *(Call("GET", f"{url}?$filter=partition+eq+P") for url in plain),
        *(Call("GET", f"{url}{_EXPANDED}") for url in ("ltm/virtual", "ltm/pool", "ltm/policy")),
        Call("GET", "net/arp?$filter=partition+eq+P"),
        Call("GET", f"net/fdb/tunnel{_EXPANDED}"),
        Call("GET", "net/route?$filter=partition+eq+P"),
    ]


CCCL = [
    *_refresh(),
    Call("POST", "ltm/virtual-address", _CCCL_ADDRESS),
    Call("POST", "ltm/monitor/http",
         {"name": "m", "partition": "P", "interval": 5, "timeout": 16, "send": "GET /\\r\\n", "recv": ""}),
    Call("POST", "ltm/monitor/udp", {"name": "u", "partition": "P", "interval": 5, "timeout": 16}),
    Call("POST", "ltm/pool", _CCCL_POOL),
    Call("POST", "ltm/data-group/internal",
         {"name": "dg", "partition": "P", "type": "string", "records": [{"name": "a", "data": "b"}]}),
    Call("POST", "ltm/rule", {"name": "rule", "partition": "P", "apiAnonymous": "when HTTP_REQUEST { }"}),
    Call("POST", "ltm/policy", _CCCL_POLICY),
    Call("POST", "ltm/virtual", _CCCL_VIRTUAL),
    *_refresh(),
    Call("PUT", "ltm/pool/~P~pool", {**_CCCL_POOL, "membersReference": {**_REFERENCE, "items": [
        MEMBER, {**MEMBER, "name": "10.0.0.2%0:80"}]}}),
    Call("PUT", "ltm/data-group/internal/~P~dg", {"name": "dg", "partition": "P", "records": []}),
    Call("PUT", "ltm/policy/~P~policy", _CCCL_POLICY),
    Call("PUT", "ltm/virtual/~P~virtual", {**_CCCL_VIRTUAL, "rules": ["/P/rule"]}),
    Call("PUT", "ltm/node/~P~10.0.0.2%250",
         {"name": "10.0.0.2%0", "partition": "P", "state": "user-up", "session": "user-enabled"}),
    Call("DELETE", "ltm/virtual/~P~virtual"),
    Call("DELETE", "ltm/policy/~P~policy"),
    Call("DELETE", "ltm/rule/~P~rule"),
    Call("DELETE", "ltm/data-group/internal/~P~dg"),
    Call("DELETE", "ltm/pool/~P~pool"),
    Call("DELETE", "ltm/monitor/http/~P~m"),
    Call("DELETE", "ltm/monitor/udp/~P~u"),
    Call("DELETE", "ltm/node/~P~10.0.0.1%250"),
    Call("DELETE", "ltm/node/~P~10.0.0.2%250"),
    Call("DELETE", "ltm/virtual-address/~P~10.0.0.5"),
]  # fmt: skip
"""A first reading, a Service with everything, a second reading, changes, and all of it removed."""

SDK = [
    *(Call("GET", f"{module}/") for module in ("sys", "ltm", "net", "auth", "cm")),
    *(Call("GET", f"ltm/monitor/{kind}/") for kind in
      ("http", "https", "tcp", "tcp-half-open", "udp", "icmp", "gateway-icmp")),
    *(Call("GET", f"{url}/") for url in (
        "sys/folder", "sys/db", "sys/provision", "sys/hardware", "sys/global-settings", "auth/partition",
        "auth/user", "sys/application/service", "sys/file/ssl-cert", "sys/file/ssl-key", "sys/crypto/cert",
        "cm/device", "cm/device-group", "cm/traffic-group", "cm/sync-status", "cm/failover-status",
        "ltm/snatpool", "ltm/snat-translation", "ltm/profile/client-ssl", "ltm/profile/server-ssl",
        "net/tunnels/tunnel", "net/fdb/tunnel", "net/arp", "net/self", "net/vlan", "net/route",
        "net/route-domain")),
    Call("GET", "net/tunnels/tunnel/~Common~http-tunnel/"),
    Call("GET", "net/fdb/tunnel/~Common~http-tunnel"),
    Call("GET", "cm/traffic-group/~Common~traffic-group-1/stats"),
    Call("POST", "ltm/pool/", {"name": "p", "partition": "P"}),
    Call("POST", "ltm/pool/~P~p/members/", {"name": "10.0.0.1:80", "partition": "P"}),
    Call("GET", "ltm/pool/~P~p/members/"),
    Call("GET", "ltm/pool/~P~p/members/~P~10.0.0.1:80"),
    Call("GET", "ltm/pool/~P~p/stats/"),
    Call("GET", "ltm/pool/~P~absent", status=404),
    Call("PUT", "ltm/pool/~P~p/", {
        "name": "p", "partition": "P", "fullPath": "/P/p", "loadBalancingMode": "least-connections-member",
        "membersReference": {"link": "https://localhost/mgmt/tm/ltm/pool/~P~p/members?ver=14.1.2.1",
                             "isSubcollection": True}}),
    Call("PATCH", "ltm/pool/~P~p", {"members": [{"name": "/P/10.0.0.2:80", "address": "10.0.0.2"}]}),
    Call("POST", "ltm/virtual/", {
        "name": "v", "partition": "P", "destination": "/P/10.0.0.5%0:80", "mask": "255.255.255.255",
        "ipProtocol": "tcp", "profiles": ["/Common/http", "/Common/tcp"]}),
    Call("GET", "ltm/virtual/~P~v/profiles/"),
    Call("GET", "ltm/virtual/~P~v/policies/"),
    Call("POST", "ltm/policy/", {"name": "pol", "partition": "P", "subPath": "Drafts",
                                 "strategy": "/Common/first-match", "rules": [{"name": "r"}]}),
    Call("POST", "ltm/policy/", {"command": "publish", "name": "/P/Drafts/pol"}),
    Call("GET", "ltm/policy/~P~pol/rules/"),
    Call("POST", "ltm/data-group/internal/", {"name": "dg", "partition": "P", "type": "string"}),
    Call("PUT", "ltm/data-group/internal/~P~dg/",
         {"name": "dg", "partition": "P", "records": [{"name": "a", "data": "b"}]}),
    Call("POST", "sys/config/", {"command": "save"}),
    Call("DELETE", "ltm/virtual/~P~v/"),
    Call("DELETE", "ltm/pool/~P~p/"),
]  # fmt: skip
"""With a slash at the end, as f5-sdk spells most URLs."""
