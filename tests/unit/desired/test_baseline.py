"""Objects that are always there: which ones, by the settings and by what is on the device."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.desired import baseline
from f5router.model import names, tls_names
from f5router.model.device_facts import OriginalFacts
from f5router.model.http_edge import ErrorPage, HTTPEdge
from f5router.model.ltm import Attachment, DataGroup, Forward, IRule, Policy, Pool, Record, ServerSSL
from f5router.model.objects import Ref
from f5router.model.route_options import BalancingDefaults, TCPMonitor
from tests.builders import FACTS, Settings
from tests.rows import rows

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"
PAGE = ErrorPage(404, (), b"nobody")
OLD = replace(FACTS, version=(11, 6, 0))
GIVEN = replace(FACTS, https=replace(FACTS.https, server_ssl=("/Common/serverssl",)))
LEFT = OriginalFacts(irule=True, reencrypt=frozenset({("re.example.com", "/Common/openshift_shop_tls")}),
                     passthrough=(("pass.example.com", "/Common/openshift_shop_pass"),))
FROM_ORIGINAL = replace(
    FACTS, original=LEFT, https=replace(FACTS.https, original_server_ssl=("/Common/openshift_re_server",)))


DEFAULT = Settings()


def built(config=DEFAULT, facts=FACTS) -> dict:
    return baseline.build(config, facts, {}, config.tls_files)


def named(objects: dict, *kinds: type) -> set[str]:
    """Names of the objects of these kinds, without their folder."""
    return {obj.path.rpartition("/")[2] for obj in objects.values() if isinstance(obj, kinds)}


def attached(objects: dict, virtual: str) -> set[str]:
    """Names of what a virtual server gets."""
    return {obj.target.rpartition("/")[2] for obj in objects.values()
            if isinstance(obj, Attachment) and obj.virtual == virtual}


ALWAYS = {names.PASSTHROUGH_IRULE, names.REQUEST_IRULE, names.UNAVAILABLE_IRULE, names.HEADERS_IRULE,
          names.COOKIE_IRULE}


@rows(("config", "facts", "irules"), [
    pytest.param(DEFAULT, FACTS, ALWAYS, id="as it is by default"),
    pytest.param(Settings(https_virtual=None), FACTS, ALWAYS - {names.PASSTHROUGH_IRULE}, id="HTTP alone"),
    pytest.param(Settings(http_virtual=None), FACTS, ALWAYS, id="HTTPS alone"),
    pytest.param(DEFAULT, OLD, ALWAYS - {names.COOKIE_IRULE}, id="Rules cannot set variables"),
    pytest.param(Settings(unavailable_page=False), FACTS, ALWAYS - {names.UNAVAILABLE_IRULE}, id="no page"),
    pytest.param(Settings(edge=HTTPEdge(not_found=PAGE)), FACTS, ALWAYS | {names.NOT_FOUND_IRULE},
                 id="another page for hosts of nobody"),
    pytest.param(Settings(proxy_protocol=True), FACTS, ALWAYS | {names.PROXY_IRULE}, id="PROXY protocol"),
    pytest.param(DEFAULT, GIVEN, ALWAYS | {names.REENCRYPT_IRULE}, id="a server SSL profile is there"),
    pytest.param(DEFAULT, FROM_ORIGINAL, ALWAYS | {names.REENCRYPT_IRULE}, id="the original router's"),
])
def test_irules(config, facts, irules):
    """No iRule is there that is not needed: each one costs every request time."""
    assert named(built(config, facts), IRule) == irules


@pytest.mark.parametrize("https", [None, HTTPS])
@pytest.mark.parametrize("http", [None, HTTP])
def test_virtual_servers(http, https):
    """Each gets its own policy; one that is not configured gets nothing."""
    objects = built(Settings(http_virtual=http, https_virtual=https))
    policies = {virtual for virtual, name in ((http, names.INSECURE_POLICY), (https, names.SECURE_POLICY))
                if virtual and name in attached(objects, virtual)}
    assert policies == {virtual for virtual in (http, https) if virtual}
    assert len(named(objects, Policy)) == len(policies)
    assert {obj.virtual for obj in objects.values() if isinstance(obj, Attachment)} == policies


def test_the_folder_is_that_of_the_settings():
    """Nothing of the router lies elsewhere, and both routers of two folders have all of it."""
    def relative(folder: str) -> set[Ref]:
        config = Settings(folder=folder, http_virtual=f"{folder}/h", https_virtual=f"{folder}/s",
                          proxy_protocol=True, edge=HTTPEdge(not_found=PAGE), check_interval_s=5)
        objects = built(config, replace(FACTS, http=None, https=None))
        assert {ref for ref in objects if not ref.path.startswith(f"{folder}/")} == set()
        return {Ref(ref.kind, ref.path.replace(folder, "")) for ref in objects}

    assert relative("/Common") == relative("/OpenShift/zone1")


SETTINGS = st.builds(
    Settings, http_virtual=st.sampled_from([None, HTTP]), https_virtual=st.sampled_from([None, HTTPS]),
    check_interval_s=st.sampled_from([0, 5]), proxy_protocol=st.booleans(), strict_sni=st.booleans(),
    unavailable_page=st.booleans(), cookie_name=st.sampled_from(["", "OCP"]),
    forwarded_headers=st.sampled_from(["append", "replace", "if-none", "never"]),
    edge=st.builds(HTTPEdge, compressed_types=st.sampled_from([(), ("text/",)]),
                   not_found=st.sampled_from([None, PAGE]), unavailable=st.sampled_from([None, PAGE])),
    balancing=st.sampled_from([BalancingDefaults(), BalancingDefaults(http="source", tcp="roundrobin")]))


@given(config=SETTINGS, facts=st.sampled_from([FACTS, OLD, GIVEN, FROM_ORIGINAL]))
def test_everything_that_is_needed_is_there(config, facts):
    """A missing reference would hold back all that depends on it, for good."""
    objects = built(config, facts)
    needed = {ref for obj in objects.values() for ref in obj.dependencies}
    assert needed <= objects.keys()
    assert all(obj.ref == ref for ref, obj in objects.items())


def test_one_profile_alone_is_never_attached():
    """The profile alone would encrypt towards every pod, and the device refuses the iRule alone."""
    objects = built(DEFAULT, FROM_ORIGINAL)
    pair = [obj for obj in objects.values() if isinstance(obj, Attachment)
            and obj.target.rpartition("/")[2] in (names.REENCRYPT_IRULE, tls_names.DEFAULT_SERVERSSL)]
    assert len(pair) == 2
    record = next(obj for obj in objects.values() if isinstance(obj, Record) and obj.name == HTTPS)
    assert record.data == baseline.PLAIN
    for attachment in pair:
        kinds = {objects[ref].__class__ for ref in attachment.dependencies}
        assert {IRule, ServerSSL, Record} <= kinds
        assert record.ref in attachment.dependencies


def test_a_server_ssl_profile_of_the_administrator_stays_alone():
    objects = built(DEFAULT, GIVEN)
    assert named(objects, ServerSSL) == set()
    assert names.REENCRYPT_IRULE in attached(objects, HTTPS)
    assert names.REENCRYPT_IRULE not in attached(objects, HTTP)


def test_what_the_original_router_left_goes_on():
    """Its passthrough records are copied. Its iRule changes when what takes its place is attached."""
    elsewhere = built(DEFAULT, FROM_ORIGINAL)
    group = elsewhere[Ref(DataGroup.KIND, f"/Common/{names.PASSTHROUGH_GROUP}")]
    assert group.copied == LEFT.passthrough
    irule = elsewhere[Ref(IRule.KIND, f"/Common/{names.PASSTHROUGH_IRULE}")]
    needed = {elsewhere[ref] for ref in irule.dependencies}
    assert {obj.target.rpartition("/")[2] for obj in needed if isinstance(obj, Attachment)} == {
        names.REQUEST_IRULE, names.REENCRYPT_IRULE}
    (pool,) = (obj for obj in needed if isinstance(obj, Record))
    assert pool.name == "/Common/openshift_shop_tls"
    assert pool.data == tls_names.server_ssl("/Common", tls_names.UNVERIFIED)

    fresh = built()[Ref(IRule.KIND, f"/Common/{names.PASSTHROUGH_IRULE}")]
    assert {ref.kind for ref in fresh.dependencies} == {DataGroup.KIND}


def test_an_irule_comes_after_what_its_text_names():
    """The device refuses it otherwise."""
    objects = built(DEFAULT, FROM_ORIGINAL)
    needed = {obj.path: {ref.path for ref in obj.dependencies} for obj in objects.values()
              if isinstance(obj, IRule)}
    groups = {f"/Common/{name}" for name in (names.REENCRYPT_GROUP, names.PERSISTENCE_GROUP)}
    assert needed[f"/Common/{names.REQUEST_IRULE}"] == {f"/Common/{names.NOWHERE_POOL}", *groups}
    assert needed[f"/Common/{names.REENCRYPT_IRULE}"] == {f"/Common/{names.REENCRYPT_GROUP}"}
    (pool,) = (obj for obj in objects.values()
               if isinstance(obj, Record) and obj.name not in (HTTPS, names.OWNERS_KNOWN))
    assert pool.data in {objects[ref].path for ref in pool.dependencies}


@pytest.mark.parametrize("interval_s", [0, 5])
def test_the_monitor_of_the_administrators_interval(interval_s):
    objects = built(Settings(check_interval_s=interval_s)).values()
    intervals = [obj.interval_s for obj in objects if isinstance(obj, TCPMonitor)]
    assert intervals == ([interval_s] if interval_s else [])


def test_nowhere():
    """The pool without members is there, and Rules that lead to it say so to the iRule where they can."""
    assert names.NOWHERE_POOL in named(built(), Pool)
    path = f"/Common/{names.NOWHERE_POOL}"
    assert baseline.nowhere("/Common", FACTS) == Forward(path, True)
    assert baseline.nowhere("/Common", OLD) == Forward(path, False)
