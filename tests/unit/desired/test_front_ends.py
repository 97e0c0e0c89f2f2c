"""Desired virtual servers: complete before they answer, and the same on each address."""

from dataclasses import replace

from f5router.desired import baseline
from f5router.model import names, ownership, tls_names
from f5router.model.device_facts import VirtualFacts
from f5router.model.ltm import Attachment, ClientSSL
from f5router.model.objects import Ref
from f5router.model.virtual_server import FrontEnd, Listening, VirtualServer, listeners, numbered
from f5router.plan.diff import diff
from tests.builders import FACTS, Settings
from tests.rows import rows

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"
ONE, TWO = ("203.0.113.10",), ("203.0.113.10", "2001:db8::1")


def own(path: str, port: int, **fields) -> VirtualFacts:
    """Facts about a virtual server of the router, also before it is there."""
    return VirtualFacts(path, is_own=True, port=port, snat="automap", **fields)


OWN_FACTS = replace(FACTS, http=own(HTTP, 80), https=own(
    HTTPS, 443, replaced_client_ssl=ClientSSL.PARENT), further=tuple(
        own(numbered(first, 2), port) for first, port in ((HTTP, 80), (HTTPS, 443))))


def settings(addresses: tuple[str, ...], http: str | None = HTTP, https: str | None = HTTPS) -> Settings:
    return Settings(http_virtual=http, https_virtual=https,
                    front_ends=(FrontEnd(addresses, http, https),))


def built(config: Settings) -> dict:
    return baseline.build(config, OWN_FACTS, {}, config.tls_files)


CONFIGS = [settings(ONE), settings(TWO), settings(TWO, None), settings(TWO, HTTP, None)]


@rows("config", CONFIGS)
def test_each_virtual_server_answers_last(config):
    objects = built(config)
    assert {need for obj in objects.values() for need in obj.dependencies} <= objects.keys()
    wanted = {listener.virtual for listener in listeners(config.front_ends)}
    places = {change.ref: place for place, change in enumerate(diff(objects, {}, lambda obj: True))}
    answering = [obj for obj in objects.values() if isinstance(obj, Listening)]
    assert {obj.virtual for obj in answering} == wanted
    for obj in answering:
        attached = {each.ref for each in objects.values()
                    if isinstance(each, Attachment) and each.virtual == obj.virtual}
        attached -= {ref for ref in attached if ref.path.endswith(names.UNAVAILABLE_IRULE)}
        assert attached
        assert {*attached, Ref(VirtualServer.KIND, obj.virtual)} == set(obj.dependencies)
        assert max(places[ref] for ref in obj.dependencies) < places[obj.ref]
        assert all(Ref(VirtualServer.KIND, obj.virtual) in objects[ref].dependencies for ref in attached)


@rows("config", CONFIGS)
def test_it_stops_first(config):
    objects = built(config)
    plan = diff({}, objects, lambda obj: ownership.owns("/Common", obj))
    assert {change.ref for change in plan} == objects.keys()
    places = {change.ref: place for place, change in enumerate(plan)}
    for obj in objects.values():
        if isinstance(obj, Listening):
            assert all(places[obj.ref] < places[ref] for ref in obj.dependencies)


def attached(objects: dict, virtual: str) -> set[str]:
    return {obj.target.rpartition("/")[2] for obj in objects.values()
            if isinstance(obj, Attachment) and obj.virtual == virtual}


@rows("first", [HTTP, HTTPS])
def test_a_further_address_has_what_the_first_has(first):
    objects = built(settings(TWO))
    assert attached(objects, first) < attached(objects, numbered(first, 2))
    more = attached(objects, numbered(first, 2)) - attached(objects, first)
    assert more == {names.REENCRYPT_IRULE, names.LIMITS_IRULE, tls_names.DEFAULT_SERVERSSL}


def test_https_always_has_the_default_profile():
    objects = built(settings(ONE))
    assert tls_names.DEFAULT_CLIENTSSL in attached(objects, HTTPS)
    profile = objects[Ref(ClientSSL.KIND, f"/Common/{tls_names.DEFAULT_CLIENTSSL}")]
    assert (profile.sni_default, profile.parent, profile.cert) == (True, ClientSSL.PARENT, "")


def test_without_front_ends_there_are_none():
    objects = baseline.build(Settings(), FACTS, {}, Settings().tls_files)
    assert not any(isinstance(obj, VirtualServer | Listening) for obj in objects.values())
