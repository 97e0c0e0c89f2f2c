"""A recreated object is there afterwards: the new one or, if the device refuses it, the old one."""

from dataclasses import replace

import pytest

from f5router.icontrol.codec import net_codec
from f5router.icontrol.writers import tunnels
from f5router.icontrol.writers.tunnels import TunnelWriter
from f5router.model import ownership
from f5router.model.errors import Conflict, InUse, NotFound, Refused
from f5router.model.net import SelfIP, SourceTranslation, Tunnel
from f5router.plan.change import CREATE, UPDATE, Change

TUNNEL = Tunnel("/Common/vxlan5000", "/Common/vxlan-ose", "10.3.89.213")
OTHER_PROFILE = replace(TUNNEL, profile="/Common/other")
ADDRESS = SelfIP("/Common/10.131.0.5/14", "10.131.0.5/14", TUNNEL.path)
NARROW = SelfIP("/Common/10.131.0.5/23", "10.131.0.5/23", TUNNEL.path)
RECORD = {"name": "00:50:56:01:02:03", "endpoint": "10.9.9.9%0"}
FDB = "net/fdb/tunnel/~Common~vxlan5000"


class Device:
    """Objects by URL; a self IP's address and a tunnel's users are watched over, as on a device."""

    def __init__(self, *objects, records=(), refuse=lambda body: False):
        self.objects, self.records, self.refuse = {}, list(records), refuse
        for obj in objects:
            self._put(obj.KIND, net_codec.encode(obj))

    def _put(self, kind, body):
        path = f"/{body['partition'].strip('/')}/{body['name']}"
        self.objects[f"{kind}/{path.replace('/', '~')}"] = {**body, "fullPath": path}

    def get(self, path, params=None):
        if path == FDB:
            return {"recordsReference": {"items": list(self.records)}}
        if path == "net/self":
            return {"items": [obj for url, obj in self.objects.items() if url.startswith("net/self/")]}
        if path not in self.objects:
            raise NotFound(text="absent", status=404)
        return self.objects[path]

    def post(self, path, body):
        same = [o for u, o in self.objects.items() if u.startswith("net/self/") and path == "net/self"
                and o["address"].split("/")[0] == body["address"].split("/")[0]]
        if any(o["name"] == body["name"] for o in same):
            raise Conflict(text="exists", status=409)
        if same or self.refuse(body):
            raise Refused(text="no", status=400)
        self._put(path, body)

    def patch(self, path, body):
        if path == FDB:
            self.records = body["records"]
        else:
            self.objects[path] |= body

    def delete(self, path):
        if path not in self.objects:
            raise NotFound(text="absent", status=404)
        if path.startswith("net/tunnels/") and any(url.startswith("net/self/") for url in self.objects):
            raise InUse(text="in use", status=400)
        del self.objects[path]
        if path.startswith("net/tunnels/"):
            self.records = []

    @property
    def state(self):
        return self.objects, self.records


def write(device, change) -> None:
    TunnelWriter(device, "/Common", lambda obj: "").write([change])


def test_tunnel_made_anew():
    device = Device(OTHER_PROFILE, ADDRESS, records=[RECORD])
    write(device, Change(UPDATE, OTHER_PROFILE, TUNNEL))
    assert device.state == Device(TUNNEL, ADDRESS, records=[RECORD]).state


@pytest.mark.parametrize(("device", "change", "error"), [
    pytest.param(
        lambda: Device(OTHER_PROFILE, ADDRESS, records=[RECORD],
                       refuse=lambda body: body.get("profile") == TUNNEL.profile),
        Change(UPDATE, OTHER_PROFILE, TUNNEL), Refused, id="new tunnel refused"),
    pytest.param(
        lambda: Device(OTHER_PROFILE, ADDRESS, SelfIP("/Common/mine/1", "10.9.9.9/8", TUNNEL.path),
                       records=[RECORD]),
        Change(UPDATE, OTHER_PROFILE, TUNNEL), InUse, id="tunnel in use by another"),
    pytest.param(
        lambda: Device(TUNNEL, NARROW, refuse=lambda body: body.get("address") == ADDRESS.address),
        Change(CREATE, None, ADDRESS), Refused, id="new address refused"),
    pytest.param(
        lambda: Device(TUNNEL, refuse=lambda body: True), Change(CREATE, None, ADDRESS), Refused,
        id="no earlier address"),
    pytest.param(
        lambda: Device(TUNNEL, replace(ADDRESS, vlan="/Common/internal")), Change(CREATE, None, ADDRESS),
        Refused, id="somebody else's of our name"),
])
def test_as_it_was(device, change, error):
    device, before = device(), device()
    with pytest.raises(error):
        write(device, change)
    assert device.state == before.state


def test_same_address_with_another_prefix():
    """The device takes an address once: the earlier one goes first."""
    device = Device(TUNNEL, NARROW)
    write(device, Change(CREATE, None, ADDRESS))
    assert device.state == Device(TUNNEL, ADDRESS).state


def test_another_address_is_made_beside():
    earlier = SelfIP("/Common/10.131.0.9/14", "10.131.0.9/14", TUNNEL.path)
    device = Device(TUNNEL, earlier)
    write(device, Change(CREATE, None, ADDRESS))
    assert device.state == Device(TUNNEL, earlier, ADDRESS).state


def test_another_address_is_not_touched_by_a_refusal():
    """Not even for a moment: pods are reached by it."""
    earlier = SelfIP("/Common/10.131.0.9/14", "10.131.0.9/14", TUNNEL.path)
    device = Device(TUNNEL, earlier, refuse=lambda body: True)
    device.delete = None
    with pytest.raises(Refused):
        write(device, Change(CREATE, None, ADDRESS))


def test_created_meanwhile():
    """A lost reply, or somebody: what is there becomes what is wanted."""
    device = Device(TUNNEL, replace(ADDRESS, allow_service=("tcp:22",)))
    write(device, Change(CREATE, None, ADDRESS))
    assert device.state == Device(TUNNEL, ADDRESS).state


@pytest.mark.parametrize(("translation", "written"), [
    ({"type": "none"}, True), (None, True), ({"type": "automap"}, False),
    ({"type": "snat", "pool": "/Common/sp"}, False),
])
def test_source_addresses(translation, written):
    """A setting that came meanwhile is not overridden."""
    device = Device()
    url = "ltm/virtual/~Common~v"
    device.objects[url] = {"sourceAddressTranslation": translation} if translation else {}
    change = Change(UPDATE, SourceTranslation("/Common/v", "none"), SourceTranslation("/Common/v", "automap"))
    if translation and translation["type"] == "snat":
        with pytest.raises(Conflict, match="was set meanwhile"):
            write(device, change)
    else:
        write(device, change)
    wanted = {"type": "automap"} if written else translation
    assert device.objects[url]["sourceAddressTranslation"] == wanted


# --- reading -----------------------------------------------------------------------------


class Replies(dict):
    """Replies to GET by path, and the paths that were asked for."""

    def __init__(self, *, tunnels=(), addresses=(), domain=0):
        super().__init__({
            "net/tunnels/vxlan/~P~vxlan-ose": None, "net/tunnels/tunnel": {"items": tunnels},
            "net/self": {"items": addresses} if addresses else {}, "net/fdb/tunnel/~P~vxlan5000": {},
            "auth/partition/P": {"name": "P", "defaultRouteDomain": domain}})
        self.asked = []

    def get(self, path, params=None):
        self.asked.append(path)
        if self[path] is None:
            raise NotFound(text="absent", status=404)
        return self[path]


def tunnel(path, local="10.3.89.213"):
    return {"fullPath": path, "profile": "/Common/vxlan", "localAddress": local}


def address(vlan, cidr):
    return {"fullPath": f"/P/{cidr}", "address": cidr, "vlan": vlan}


ODD = ("", "x/14", "10.1.1.1%x/24", "10.1.1.1/99")
OWN, OTHER = "/P/vxlan5000", "/Q/vxlan5000"


@pytest.mark.parametrize(("replies", "facts"), [
    pytest.param(Replies(), [], id="nothing"),
    pytest.param(Replies(tunnels=[tunnel(OWN)]), [(OWN, "10.3.89.213", ())], id="ours, without an address"),
    pytest.param(Replies(tunnels=[tunnel(OWN)], addresses=[address(OWN, "10.131.0.5%5/14")], domain=5),
                 [(OWN, "10.3.89.213", ("10.131.0.5/14",))], id="ours, in a route domain"),
    pytest.param(Replies(tunnels=[tunnel(OTHER, "any6")]), [], id="another that joins nothing"),
    pytest.param(Replies(tunnels=[tunnel(OTHER, "any6")], addresses=[address(OTHER, "10.131.0.5/14")]),
                 [(OTHER, "", ("10.131.0.5/14",))], id="another"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address(OTHER, "10.131.0.5%0/14")]),
                 [(OTHER, "10.3.89.213", ("10.131.0.5/14",))], id="written out"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address(OTHER, "10.131.0.5/14")], domain=5),
                 [], id="another route domain: ours is not 0"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address(OTHER, "10.131.0.5%5/14")]),
                 [], id="another route domain: its own is not 0"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address(OTHER, "10.131.0.5%5/14")], domain=5),
                 [(OTHER, "10.3.89.213", ("10.131.0.5/14",))], id="the same route domain"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address("/Common/internal", "10.131.0.5/14")]),
                 [], id="an address on a VLAN"),
    pytest.param(Replies(tunnels=[tunnel(OTHER)], addresses=[address(OTHER, text) for text in ODD]),
                 [], id="odd addresses"),
])
def test_tunnels_of_all(replies, facts):
    """Self IPs on them count as far as they are in our route domain (bigip-behaviour.md B9: the suffix)."""
    _, observed = tunnels.observe(replies, "/P")
    assert [(other.path, other.local_address, other.addresses) for other in observed["tunnels"]] == facts


@pytest.mark.parametrize(("addresses", "domain", "floating"), [
    pytest.param(["10.3.89.220/24"], 0, ("10.3.89.220",), id="one"),
    pytest.param(["10.3.89.221%0/24", "10.3.89.220/24"], 0, ("10.3.89.220", "10.3.89.221"), id="two"),
    pytest.param(["10.3.89.220/24"], 5, (), id="another route domain"),
    pytest.param(["10.3.89.220%5/24"], 5, ("10.3.89.220",), id="ours"),
    pytest.param(["fd00::220/64", "10.3.89.220/24"], 0, ("10.3.89.220",), id="pods have IPv4"),
    pytest.param(["fd00::220%5/64"], 5, (), id="IPv6 alone"),
    pytest.param(["", "any6/24"], 0, (), id="odd"),
])
def test_floating_self_ips(addresses, domain, floating):
    """Leave out those on our tunnel, and those that belong to a unit."""
    given = [address("/Common/internal", text) | {"floating": "enabled"} for text in addresses]
    given += [address(OWN, "10.131.0.6/14") | {"floating": "enabled"},
              address("/Common/internal", "10.3.89.213/24") | {"floating": "disabled"}]
    _, observed = tunnels.observe(Replies(tunnels=[tunnel(OWN)], addresses=given, domain=domain), "/P")
    assert observed["floating_addresses"] == floating


@pytest.mark.parametrize("kind", ["tunnels", "addresses"])
@pytest.mark.parametrize(
    "odd", [None, 7, "x", [], {}, {"fullPath": 7}, {"fullPath": "x", "address": []}], ids=repr)
def test_odd_ones_of_others(kind, odd):
    """An odd object counts as absent, and the others are read."""
    given = {"tunnels": [tunnel(OTHER)], "addresses": [address(OTHER, "10.131.0.5/14")]}
    whole = tunnels.observe(Replies(**given), "/P")
    given[kind] = [odd, *given[kind]]
    assert tunnels.observe(Replies(**given), "/P") == whole
    assert tunnels.own_addresses(Replies(**given), "/P") == []


@pytest.mark.parametrize(("given", "reads"), [
    pytest.param({}, 3, id="nothing"),
    pytest.param({"tunnels": [tunnel(OWN)]}, 4, id="ours"),
    pytest.param({"tunnels": [tunnel(OTHER), tunnel("/Common/http-tunnel", "any6")]}, 3, id="others"),
    pytest.param({"tunnels": [tunnel(OTHER)], "addresses": [address(OTHER, "10.131.0.5/14")]}, 4,
                 id="others with addresses"),
])
def test_reads(given, reads):
    replies = Replies(**given)
    tunnels.observe(replies, "/P")
    assert len(replies.asked) == reads


def test_a_description_with_the_tunnel_only():
    """Created or made anew, a tunnel says whose it is; self IPs have no recorded property for it."""
    device = Device(OTHER_PROFILE)
    describe = ownership.describer("public")
    TunnelWriter(device, "/Common", describe).write([Change(UPDATE, OTHER_PROFILE, TUNNEL)])
    TunnelWriter(device, "/Common", describe).write([Change(CREATE, None, ADDRESS)])
    texts = {body.get("description") for body in device.objects.values()}
    assert texts == {"managed by f5router public", None}
