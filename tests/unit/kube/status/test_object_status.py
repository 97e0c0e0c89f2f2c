"""object_status.py: fields of the status of custom resources, written to the fake API server over HTTPS."""

import pytest

from f5router.kube.api import decode_contour, fields
from f5router.kube.settings import StatusSettings, StatusTiming
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import ROUTES, Source
from f5router.model.cluster import Key
from f5router.model.known_status import KnownStatus
from tests import manifests
from tests.waiting import DEADLINE_S

SOURCE = Source("ingressroutes", "/apis/contour.heptio.com/v1beta1", "ingress_routes",
                lambda obj: (decode_contour.ingress_route(obj),))
KEY = Key("shop", "a")
VALID = {"currentStatus": "valid", "description": "d"}
INVALID = {"currentStatus": "invalid", "description": "\u00e9"}


def obj(**more):
    return {"apiVersion": "contour.heptio.com/v1beta1", "kind": "IngressRoute",
            "metadata": {"namespace": "shop", "name": "a"}, "spec": {"routes": []}, **more}


def known_of(kube, kind):
    """Readings of objects that are as old as the test wants them."""
    def read(key):
        stored = kube.get(kind, key.namespace, key.name)
        return KnownStatus(fields.uid(stored), int(fields.resource_version(stored)), stored.get("status", {}))
    return read


def patches(kube):
    return [(call.method, call.path.rpartition("/a")[2]) for call in kube.log if call.method != "GET"]


@pytest.fixture
def writer_of(connection):
    writers = []

    def make(known, source=SOURCE, **settings):
        options = {"router_name": "public", "rate_per_s": 1000} | settings
        writers.append(ObjectStatusWriter(connection, source, "IngressRoute", StatusSettings(**options),
                                          known, timing=StatusTiming(forbidden_s=0.05, first_per_s=1000)))
        return writers[-1]

    yield make
    for writer in writers:
        writer.stop()


def test_written_once(kube, writer_of):
    """Other fields stay; the same status again, and one for an object of another uid, cost nothing."""
    kube.apply(obj(status={"other": 1}))
    known = known_of(kube, "IngressRoute")
    writer, uid = writer_of(known), known(KEY).uid
    for _ in range(2):
        writer.submit(KEY, uid, VALID)
        assert writer.flush(DEADLINE_S)
    writer.submit(KEY, "another", INVALID)
    assert writer.flush(DEADLINE_S)
    assert kube.get("IngressRoute", "shop", "a")["status"] == {"other": 1, **VALID}
    assert patches(kube) == [("PATCH", "")]


def test_a_watch_that_is_behind(kube, writer_of):
    """The reply to a write counts, so that a status that was replaced comes back."""
    kube.apply(obj())
    first = known_of(kube, "IngressRoute")(KEY)
    writer = writer_of(lambda key: first)
    for status in (VALID, INVALID, VALID, VALID):
        writer.submit(KEY, first.uid, status)
        assert writer.flush(DEADLINE_S)
    assert kube.get("IngressRoute", "shop", "a")["status"] == VALID
    assert len(patches(kube)) == 3


def test_a_resource_with_a_subresource(kube, writer_of):
    """A patch of the object is accepted and changes no status; from then on /status is patched."""
    kube.apply(manifests.route("a"))
    writer = writer_of(known := known_of(kube, "Route"), ROUTES)
    for word in ("one", "two"):
        writer.submit(KEY, known(KEY).uid, {"currentStatus": word})
        assert writer.flush(DEADLINE_S)
    assert kube.get("Route", "shop", "a")["status"]["currentStatus"] == "two"
    assert patches(kube) == [("PATCH", ""), ("PATCH", "/status"), ("PATCH", "/status")]


def test_an_object_that_is_gone_or_unknown(kube, writer_of):
    kube.apply(obj())
    known = known_of(kube, "IngressRoute")(KEY)
    kube.delete("IngressRoute", "shop", "a")
    kube.clear_log()
    writer = writer_of({KEY: known}.get)
    writer.submit(KEY, known.uid, VALID)
    writer.submit(Key("shop", "b"), known.uid, VALID)
    assert writer.flush(DEADLINE_S)
    assert [call.status for call in kube.log] == [404]


def test_without_a_right(kube, writer_of):
    """It is tried again, and refusal() says why."""
    kube.apply(obj())
    kube.forbid("ingressroutes", ["patch"])
    known = known_of(kube, "IngressRoute")
    writer = writer_of(known)
    writer.submit(KEY, known(KEY).uid, VALID)
    assert not writer.flush(DEADLINE_S, unless_forbidden=True)
    assert "ingressroutes" in writer.refusal()
    kube.allow("ingressroutes")
    assert writer.flush(DEADLINE_S)
    assert writer.counts["written"] == 1


def test_disabled(kube, writer_of):
    kube.apply(obj())
    known = known_of(kube, "IngressRoute")
    writer = writer_of(known, enabled=False)
    writer.submit(KEY, known(KEY).uid, VALID)
    assert writer.flush(0)
    assert patches(kube) == []


def test_one_that_is_refused(kube, writer_of, caplog):
    """The line names the object with its kind: it is no Route."""
    kube.apply(obj())
    kube.inject("422", method="PATCH")
    known = known_of(kube, "IngressRoute")
    writer = writer_of(known)
    writer.submit(KEY, known(KEY).uid, VALID)
    assert writer.flush(DEADLINE_S)
    (record,) = (record for record in caplog.records if record.message == "status refused")
    assert (record.kind, record.object) == ("IngressRoute", "shop/a")
    assert not hasattr(record, "route")


def test_an_outage(kube, writer_of, caplog):
    """It is one of this resource: another one's answer does not end it."""
    kube.apply(obj())
    kube.inject("503", method="PATCH")
    known = known_of(kube, "IngressRoute")
    writer = writer_of(known)
    writer.submit(KEY, known(KEY).uid, VALID)
    assert writer.flush(DEADLINE_S)
    (record,) = (record for record in caplog.records if record.message == "API server unusable")
    assert record.kind == "ingressroutes/status"
