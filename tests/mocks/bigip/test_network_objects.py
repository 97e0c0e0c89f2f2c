"""Rules of single kinds of the network: routes, VxLAN, FDB records, SNAT pools.

Source: bigip-behaviour.md B5 to B9.
"""

from __future__ import annotations


def test_routes(client):
    """Route domains of the partition are shown in both addresses; the gateway may change
    (bigip-behaviour.md B9)."""
    client.ok("POST", "net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    client.ok("PATCH", "auth/partition/P", {"defaultRouteDomain": 5})
    client.ok("POST", "net/self", {"name": "/P/s", "address": "10.0.0.1/24", "vlan": "/Common/internal"})
    shown = client.ok("POST", "net/route", {"name": "/P/r", "network": "10.9.0.0/16", "gw": "10.0.0.7"})
    assert (shown["network"], shown["gw"], shown["mtu"]) == ("10.9.0.0%5/16", "10.0.0.7%5", 0)
    changed = client.ok("PATCH", "net/route/~P~r", {"gw": "10.0.0.8"})
    assert (changed["network"], changed["gw"]) == ("10.9.0.0%5/16", "10.0.0.8%5")
    client.ok("POST", "net/route", {"name": "/P/d", "network": "0.0.0.0/0", "gw": "10.0.0.7"})
    assert client.ok("GET", "net/route/~P~d")["network"] == "default%5"
    client.ok("DELETE", "net/route/~P~r")
    client.ok("POST", "net/route", {"name": "/P/q", "network": "10.9.0.0/16", "gw": "10.0.0.7"})


def test_vxlan(client):
    """The objects of the original router, and FDB records (bigip-behaviour.md B9)."""
    client.ok(
        "POST",
        "net/tunnels/vxlan",
        {"name": "vxlan-ose", "partition": "P", "floodingType": "multipoint", "port": 4789},
    )
    tunnel = {
        "name": "vxlan5000",
        "partition": "P",
        "key": 0,
        "localAddress": "10.0.0.5",
        "mode": "bidirectional",
        "mtu": "0",
        "profile": "/P/vxlan-ose",
        "tos": "preserve",
        "transparent": "disabled",
        "usePmtu": "enabled",
    }
    client.ok("POST", "net/tunnels/tunnel", tunnel)
    address = {
        "name": "10.131.0.5/14",
        "partition": "P",
        "address": "10.131.0.5/14",
        "addressSource": "from-user",
        "floating": "disabled",
        "inheritedTrafficGroup": "false",
        "unit": 0,
        "vlan": "/P/vxlan5000",
        "trafficGroup": "/Common/traffic-group-local-only",
        "allowService": "all",
    }
    shown = client.ok("POST", "net/self", address)
    assert (shown["name"], shown["fullPath"]) == ("10.131.0.5/14", "/P/10.131.0.5/14")
    assert shown["vlanReference"]["link"].startswith(
        "https://localhost/mgmt/tm/net/tunnels/tunnel/~P~vxlan5000"
    )
    assert client.ok("GET", "net/self/~P~10.131.0.5~14")["address"] == "10.131.0.5/14"
    for kind, body in (("net/tunnels/tunnel", tunnel), ("net/self", address)):
        assert client.refused("POST", kind, body)[0] == 409
    records = "net/fdb/tunnel/~P~vxlan5000/records"
    client.ok("POST", records, {"name": "0a:0a:0a:00:00:07", "endpoint": "10.0.0.7"})
    assert client.refused("POST", records, {"name": "0a:0a:0a:00:00:07", "endpoint": "10.0.0.7"})[0] == 409
    assert client.refused("POST", records, {"name": "x", "endpoint": "10.0.0.7"})[0] == 400
    assert client.ok("GET", f"{records}/0a:0a:0a:00:00:07")["endpoint"] == "10.0.0.7%0"
    client.ok(
        "PATCH",
        "net/fdb/tunnel/~P~vxlan5000",
        {"records": [{"name": "0a:0a:0a:00:00:08", "endpoint": "10.0.0.8"}]},
    )
    assert [item["name"] for item in client.ok("GET", records)["items"]] == ["0a:0a:0a:00:00:08"]
    assert client.refused("DELETE", "net/tunnels/tunnel/~P~vxlan5000")[1].startswith("01070265:3")
    assert client.refused("DELETE", "net/tunnels/vxlan/~P~vxlan-ose")[1].startswith("01070265:3")
    client.ok("DELETE", "net/self/~P~10.131.0.5~14")
    client.ok("DELETE", "net/tunnels/tunnel/~P~vxlan5000")
    assert client.call("GET", "net/fdb/tunnel/~P~vxlan5000").status_code == 404


def test_fdb_records_are_part_of_the_tunnel_up_to_11_6(device):
    client = device("11.6.0")[1]
    client.ok("POST", "net/tunnels/tunnel", {"name": "t", "partition": "P", "profile": "vxlan"})
    at = "net/fdb/tunnel/~P~t"
    shown = client.ok("PATCH", at, {"records": [{"name": "0a:0a:0a:00:00:08", "endpoint": "10.0.0.8"}]})
    assert shown["records"] == [{"name": "0a:0a:0a:00:00:08", "endpoint": "10.0.0.8"}]
    assert "recordsReference" not in shown
    assert client.refused("GET", f"{at}/records")[0] == 400


def test_snatpool(client):
    client.ok("POST", "ltm/snatpool", {"name": "s", "partition": "P", "members": ["/P/10.1.1.1", "10.1.1.2"]})
    assert client.big.get("ltm/snat-translation/~P~10.1.1.2") is not None
    client.big.add_virtual("/P/vs", "10.0.0.1:80", sourceAddressTranslation={"type": "snat", "pool": "/P/s"})
    assert client.refused("DELETE", "ltm/snatpool/~P~s")[1].startswith("01070320:3")
    client.ok("PATCH", "ltm/virtual/~P~vs", {"sourceAddressTranslation": {"type": "automap"}})
    client.ok("DELETE", "ltm/snatpool/~P~s")
    assert client.big.get("ltm/snat-translation/~P~10.1.1.2") is None
