"""Attachments of a virtual server: when they cannot act, and the order of iRules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.settings import ClientSettings
from f5router.icontrol.writers.attachments import AttachmentWriter, attachment_problem, units
from f5router.model import names, tls_names
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.errors import NotFound
from f5router.model.ltm import Attachment, ClientSSL, HTTPCompression, IRule, Policy, ServerSSL
from f5router.plan.change import CREATE, DELETE, Change
from mocks.bigip import FakeBigIP
from tests.examples import examples

VIRTUAL = "/Common/https-ose-vserver"
PROFILE = Attachment(VIRTUAL, "profiles", "/Common/openshift_host_a.com-client-ssl-profile", ClientSSL.KIND)
SECURE = Attachment(VIRTUAL, "policies", "/Common/openshift_secure_routes", Policy.KIND)
INSECURE = Attachment(VIRTUAL, "policies", "/Common/openshift_insecure_routes", Policy.KIND)
PASSTHROUGH = Attachment(VIRTUAL, "rules", "/Common/openshift_passthrough_irule", IRule.KIND)
UNAVAILABLE = Attachment(VIRTUAL, "rules", "/Common/openshift_unavailable_irule", IRule.KIND)
REENCRYPT = Attachment(VIRTUAL, "rules", "/Common/openshift_reencrypt_irule", IRule.KIND)
COMPRESSION = Attachment(VIRTUAL, "profiles", "/Common/openshift_http-compression-profile",
                         HTTPCompression.KIND, "all")
ONE, OTHER = "/Common/one", "/Common/other"


@pytest.mark.parametrize(("attachment", "facts", "words"), [
    pytest.param(PROFILE, {"client_ssl": (ONE,), "sni_defaults": (ONE,)}, "", id="one default"),
    pytest.param(PROFILE, {"client_ssl": (ONE,)}, "0 have (/Common/one)", id="no default"),
    pytest.param(PROFILE, {"client_ssl": (ONE, OTHER), "sni_defaults": (ONE, OTHER)},
                 "2 have (/Common/one, /Common/other)", id="two defaults"),
    pytest.param(PROFILE, {}, "client SSL profile is missing", id="no client SSL profile"),
    pytest.param(SECURE, {}, "client SSL profile is missing", id="policy without client SSL profile"),
    pytest.param(SECURE, {"client_ssl": (ONE,)}, "", id="policy needs no default"),
    pytest.param(SECURE, {"client_ssl": (ONE,), "http": False}, "http profile is missing",
                 id="no http profile"),
    pytest.param(INSECURE, {}, "", id="port 80 needs no client SSL profile"),
    pytest.param(INSECURE, {"http": False}, "http profile is missing", id="but an http profile"),
    pytest.param(PASSTHROUGH, {"client_ssl": (ONE,), "http": False}, "http profile is missing",
                 id="passthrough too"),
    pytest.param(UNAVAILABLE, {}, "", id="503 page"),
    pytest.param(UNAVAILABLE, {"http": False}, "http profile is missing", id="503 page too"),
    pytest.param(REENCRYPT, {}, "", id="TLS towards pods brings its own profile"),
    pytest.param(COMPRESSION, {}, "", id="compression"),
    pytest.param(COMPRESSION, {"http": False}, "http profile is missing", id="compression is of HTTP"),
    pytest.param(INSECURE, {"exists": False}, "does not exist", id="no virtual server"),
])
def test_problems(attachment, facts, words):
    problem = attachment_problem(attachment, VirtualFacts(VIRTUAL, **facts))
    assert (words in problem) if words else problem == ""
    assert not problem or VIRTUAL in problem


def test_only_what_switches_tls_towards_pods_is_written_together():
    """Where a device refuses another iRule, the iRules and profiles of TLS are attached all the same."""
    tls = Attachment(VIRTUAL, "profiles", "/Common/openshift_default-server-ssl-profile", ServerSSL.KIND)
    others = [Attachment(VIRTUAL, "rules", f"/Common/{name}", IRule.KIND) for name in names.IRULE_ORDER
              if name not in (names.PASSTHROUGH_IRULE, names.REENCRYPT_IRULE)]
    attachments = (*others, PASSTHROUGH, tls, REENCRYPT, PROFILE)
    changes = [Change(CREATE, None, attachment) for attachment in attachments]
    divided = [{change.obj for change in unit} for unit in units(changes)]
    assert divided == [{PASSTHROUGH, tls, REENCRYPT}, *({other} for other in others), {PROFILE}]


# --- the order of iRules -----------------------------------------------------------------

OURS = [f"/Common/{name}" for name in names.IRULE_ORDER]
ADMINS = ["/Common/admin_b", "/Common/admin_a"]


@pytest.fixture(scope="module")
def device():
    """A virtual server that may carry each of the iRules."""
    with FakeBigIP() as big:
        big.add_virtual(VIRTUAL, "10.0.0.1:443", profiles=("/Common/tcp", "/Common/http"))
        for path in (*OURS, *ADMINS):
            big.put_object("ltm/rule", {"name": path, "apiAnonymous": "when CLIENT_ACCEPTED { }"})
        yield big


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(OURS), st.booleans(), st.booleans()), max_size=12),
       st.permutations(OURS + ADMINS), st.integers(0, 6), st.permutations(OURS))
def test_irules_have_one_order_after_any_history(device, history, there, count, missing):
    """Attached and detached one by one, some refused, beside the administrator's, from any older state."""
    device.clear_faults()
    start = [path for path in there if path in ADMINS or path in there[:count]]
    settings_ = ClientSettings(base_url=device.url, username=device.username, password=device.password,
                               verify=str(device.ca_file))
    with Client(settings_) as client:
        client.patch(item_path("ltm/virtual", VIRTUAL), {"rules": start})
        writer = AttachmentWriter(client, "/Common")
        facts = DeviceFacts(https=VirtualFacts(VIRTUAL, client_ssl=(ONE,)))
        writer.update_from(Observation(facts=facts))
        for path, attach, refused in history:
            if refused:
                device.inject("refuse", method="PATCH", path="ltm/virtual")
            obj = Attachment(VIRTUAL, "rules", path, IRule.KIND)
            writer.write([Change(CREATE, None, obj) if attach else Change(DELETE, obj, None)])
            device.clear_faults()
        for path in missing:
            obj = Attachment(VIRTUAL, "rules", path, IRule.KIND)
            assert [error for _, error in writer.write([Change(CREATE, None, obj)])] == [None]
        attached = client.get(item_path("ltm/virtual", VIRTUAL))["rules"]
    assert attached == [path for path in there if path in ADMINS] + OURS


@pytest.mark.parametrize("version", ["11.6.0", "17.1.0"])
@pytest.mark.parametrize("lie", [True, False])
def test_a_404_to_the_delete_of_a_profile(version, lie):
    """It is believed if somebody else has detached the profile, and not while the profile is there."""
    with FakeBigIP(version) as device:
        device.add_virtual(VIRTUAL, "10.0.0.1:443", profiles=("/Common/tcp", "/Common/http"))
        device.put_object("ltm/profile/client-ssl", {
            "name": tls_names.client_ssl("/Common", "a.com").rsplit("/", 1)[1], "partition": "Common",
            "serverName": "a.com", "defaultsFrom": "/Common/clientssl"})
        settings_ = ClientSettings(base_url=device.url, username=device.username, password=device.password,
                                   verify=str(device.ca_file))
        with Client(settings_) as client:
            profiles = [{"name": name} for name in ("/Common/tcp", "/Common/http")]
            more = [{"name": PROFILE.target}] if lie else []
            client.patch(item_path("ltm/virtual", VIRTUAL), {"profiles": profiles + more})
            if lie:
                device.inject("404-bogus", method="DELETE", path="/profiles/")
            ((_, error),) = AttachmentWriter(client, "/Common").write([Change(DELETE, PROFILE, None)])
    assert isinstance(error, NotFound) if lie else error is None


def test_a_profile_of_the_original_goes_in_the_same_write(device):
    """Two profiles of one server name are refused; without either, the default certificate is shown."""
    for name, host in (("openshift_route_shop_a-client-ssl-profile", "a.com"),
                       ("openshift_host_a.com-client-ssl-profile", "a.com"), ("default", "none")):
        device.put_object("ltm/profile/client-ssl", {
            "name": name, "partition": "Common", "serverName": host, "defaultsFrom": "/Common/clientssl",
            "sniDefault": str(name == "default").lower()})
    old = "/Common/openshift_route_shop_a-client-ssl-profile"
    new = Attachment(VIRTUAL, "profiles", PROFILE.target, ClientSSL.KIND, "clientside", replaces=old)
    settings_ = ClientSettings(base_url=device.url, username=device.username, password=device.password,
                               verify=str(device.ca_file))
    with Client(settings_) as client:
        before = [{"name": name} for name in ("/Common/tcp", "/Common/http", "/Common/default", old)]
        client.patch(item_path("ltm/virtual", VIRTUAL), {"profiles": before})
        device.clear_log()
        writer = AttachmentWriter(client, "/Common")
        writer.update_from(Observation(facts=DeviceFacts(https=VirtualFacts(
            VIRTUAL, client_ssl=("/Common/default",), sni_defaults=("/Common/default",)))))
        assert [error for _, error in writer.write([Change(CREATE, None, new)])] == [None]
        assert [entry.method for entry in device.writes()] == ["PATCH"]
        profiles = client.get(item_path("ltm/virtual", VIRTUAL, "profiles"))["items"]
        assert {item["fullPath"] for item in profiles} == {
            "/Common/tcp", "/Common/http", "/Common/default", PROFILE.target}
