"""openshift_reencrypt_irule: TLS towards the pods of one client connection after another."""

import pytest

from f5router.desired import irules
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.tmm import Connection, Tmm

FOLDER = "/OpenShift/zone1"
GROUP = f"{FOLDER}/ssl_reencrypt_serverssl_dg"
RULE = irules.reencrypt_irule(FOLDER)
TLS, PLAIN, FOREIGN = f"{FOLDER}/openshift_ns_tls", f"{FOLDER}/openshift_ns_plain", "/Common/admins"
PROFILE = f"{FOLDER}/openshift_ns_tls-server-ssl-profile"
RECORDS = {TLS: PROFILE}

SWITCHED = ("SSL::profile", PROFILE)
OFF = ("SSL::disable", "serverside")
ON = ("SSL::enable", "serverside")
OURS = {"/Common/vs": "plain"}
"""The record that tells that the virtual server brought no server SSL profile of its own."""


def servers(tmm: Tmm, *pools: str, records: dict[str, str] = RECORDS, **how) -> Connection:
    """Server connections to these pools within one client connection."""
    return tmm.run([RULE], pools=pools, groups={GROUP: records}, **how)


@pytest.mark.parametrize(("pool", "records", "want"), [
    pytest.param(TLS, RECORDS, (SWITCHED,), id="pool with a profile"),
    pytest.param("openshift_ns_tls", RECORDS, (SWITCHED,), id="the same as a bare name"),
    pytest.param(PLAIN, RECORDS, (OFF,), id="pool of ours without"),
    pytest.param("openshift_ns_plain", RECORDS, (OFF,), id="the same as a bare name, plain"),
    pytest.param(TLS + "x", RECORDS, (OFF,), id="longer name"),
    pytest.param(FOREIGN, RECORDS, (), id="foreign pool, own server SSL profile"),
    pytest.param("/Common/openshift_ns_tls", RECORDS, (), id="pool of another router"),
    pytest.param("/Common" + PLAIN, RECORDS, (), id="our path below another folder"),
    pytest.param(f"{FOLDER}/web", RECORDS, (), id="foreign pool in our folder"),
    pytest.param("web", RECORDS, (), id="foreign pool as a bare name"),
    pytest.param(FOREIGN, RECORDS | OURS, (OFF,), id="foreign pool, server SSL profile is ours"),
    pytest.param(FOREIGN, RECORDS | {"/Common/vs2": "plain"}, (), id="record of another virtual server"),
    pytest.param(FOREIGN, RECORDS | {"/Common/vs": "tls"}, (), id="record with other data"),
    pytest.param("", RECORDS | OURS, (), id="no pool"),
    pytest.param(TLS, RECORDS | OURS, (SWITCHED,), id="pool with a profile, server SSL profile is ours"),
    pytest.param(FOREIGN, RECORDS | {FOREIGN: PROFILE}, (SWITCHED,), id="foreign pool with a profile"),
])
def test_pools(tmm, pool, records, want):
    """TLS follows the pool."""
    connection = servers(tmm, pool, records=records)
    assert connection.effects == want
    assert not connection.logs
    assert all(name.startswith(("f5r_", "f5router_")) for name in connection.variables)


@pytest.mark.parametrize(("virtual", "record", "want"), [
    ("vs", f"{FOLDER}/vs", (OFF,)),
    ("vs", "/Common/vs", (OFF,)),
    ("vs", "/Other/vs", ()),
    (f"{FOLDER}/vs", f"{FOLDER}/vs", (OFF,)),
    (f"{FOLDER}/vs", "/Common/vs", ()),
])
def test_name_of_the_virtual_server(tmm, virtual, record, want):
    """`virtual name` may be a full path or a bare name."""
    assert servers(tmm, FOREIGN, records={record: "plain"}, virtual=virtual).effects == want


def test_keep_alive(tmm):
    """Each request has the TLS of its own pool, also after one that had none."""
    assert servers(tmm, PLAIN, TLS, TLS, PLAIN).effects == (OFF, ON, SWITCHED, SWITCHED, OFF)


def test_keep_alive_to_a_foreign_pool(tmm):
    """The virtual server's own TLS is back after a request of ours without."""
    assert servers(tmm, PLAIN, FOREIGN, FOREIGN).effects == (OFF, ON)


@pytest.mark.parametrize("fault", ["SSL::profile", "SSL::enable"])
def test_fails_closed(tmm, fault):
    """Rather no answer than clear text to a pod that needs TLS."""
    connection = servers(tmm, PLAIN, TLS, faults=[fault])
    assert connection.effects[-1] == ("reject",)
    assert connection.logs


def test_record_without_profile(tmm):
    """A record without data is not the same as no record."""
    connection = servers(tmm, TLS, records={TLS: ""})
    assert connection.effects == (("reject",),)
    assert connection.logs


BY_SERVICE = {TLS: "services", f"{TLS}/1": PROFILE, f"{TLS}/2": f"{PROFILE}-2"}


@pytest.mark.parametrize(("priority", "pool", "want"), [
    pytest.param("1", TLS, (SWITCHED,), id="the first Service"),
    pytest.param("2", TLS, (("SSL::profile", f"{PROFILE}-2"),), id="the second"),
    pytest.param("1", "openshift_ns_tls", (SWITCHED,), id="pool as a bare name"),
    pytest.param("3", TLS, (("reject",),), id="no such Service"),
    pytest.param("0", TLS, (("reject",),), id="no Service"),
    pytest.param("", TLS, (("reject",),), id="nothing known"),
])
def test_the_profile_of_the_service(tmm, priority, pool, want):
    """Each Service of a pool has its own; rather no answer than one that another name vouches for."""
    connection = servers(tmm, pool, records=BY_SERVICE, priority=priority)
    assert connection.effects == want
    assert bool(connection.logs) == (want == (("reject",),))


@pytest.mark.parametrize("fault", ["LB::server priority", "SSL::profile"])
def test_no_profile_of_the_service(tmm, fault):
    connection = servers(tmm, TLS, records=BY_SERVICE, priority="1", faults=[fault])
    assert connection.effects[-1] == ("reject",)
    assert connection.logs


def test_without_server_ssl_profile(tmm):
    """Nothing to disable is no error."""
    assert servers(tmm, PLAIN, faults=["SSL::disable"]).effects == (("raised", *OFF),)


def test_passthrough_is_left_alone(tmm):
    """Behind the other iRule: its connections get neither TLS nor a second SSL::disable."""
    passthrough = irules.passthrough_irule(FOLDER)
    hosts = {f"{FOLDER}/ssl_passthrough_servername_dg": {"pass.example.com": TLS}, GROUP: RECORDS}

    def client(name: str) -> Connection:
        return tmm.run([passthrough, RULE], segments=[h.hello(name)], pools=[TLS], groups=hosts)

    assert client("pass.example.com").effects[-1] == ("TCP::release",)
    assert client("else.example.com").effects[-1] == SWITCHED


def test_passthrough_mark_belongs_to_one_connection(tmm):
    """The next connection is treated by its pool again."""
    test_passthrough_is_left_alone(tmm)
    assert servers(tmm, TLS).effects == (SWITCHED,)
