"""Objects that nobody sane writes beside good ones: those are served, whatever the others hold."""

import io
import json
import re

import pytest

from f5router.admission import condition
from f5router.logs import log_output
from f5router.model import ownership
from f5router.model.ltm import Pool
from mocks.bigip.traffic import Request, decide
from tests import hostile, hostile_certificates, manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.sdn import FLAGS as VXLAN
from tests.feature.sdn import sdn
from tests.waiting import DEADLINE_S, until

ONE = identity()
GOOD = {
    "good0": {}, "good1": {"kind": "edge", "certificate": ONE.certificate, "key": ONE.key},
    "good2": {"kind": "passthrough"},
}
NODES = (manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2"))
KINDS = ("ltm/pool", "ltm/policy", "ltm/profile/client-ssl", "ltm/profile/server-ssl", "sys/file/ssl-cert",
         "sys/file/ssl-key", "ltm/node", "net/self", "net/route", "net/tunnels/tunnel",
         "ltm/data-group/internal")
FORGED = re.compile(r"^(Route |\d+ Routes \()shop/forged")
SAFE = re.compile(r"[A-Za-z0-9_./:%~-]+")


@pytest.mark.parametrize(("seed", "form", "flags"), [
    pytest.param(1, "text", {}, id="plain"),
    pytest.param(2, "json", {"namespace_labels": "zone=west", "extended_validation": "false"},
                 id="namespaces"),
    pytest.param(3, "text", {"pool_member_type": "nodeport"}, id="nodeport"),
    pytest.param(4, "json", VXLAN, id="vxlan"),
    pytest.param(5, "text", {"watch_endpoints": "true",
                             "hostname_template": "${name}-${namespace}.example.com"}, id="endpoints"),
])
def test_good_ones_are_served(lab, seed, form, flags):
    """In the first list and through the watches; no pass fails, and nothing is shown or sent as it is."""
    stream = io.StringIO()
    log_output.setup("info", form, stream=stream)
    prepare(lab, seed, flags)
    router = lab.router(**flags)
    problems = lab.converge(router)
    assert "shop/forged-none" in "".join(problems), "the BIG-IP cannot read that certificate"
    assert [text for text in problems if not FORGED.search(text)] == [], stream.getvalue()[-3000:]
    assert served(lab)
    wave = list(hostile.objects(seed + 100, 100))
    lab.apply(*wave, *good("2"))
    until(lambda: router.reconcile_once() and served(lab, "2"))
    for kind, *key in {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
                       for obj in wave[:50]}:
        lab.kube.delete(kind, *key)
    lab.apply(*good("3"))
    until(lambda: router.reconcile_once() and served(lab, "3"))
    assert served(lab)
    assert router.reporter.events.flush(DEADLINE_S)
    lists = [entry for entry in lab.kube.log if entry.path.endswith("/routes")
             and "watch" not in entry.query and "fieldSelector" not in entry.query]
    # A router for some Routes lists them all once, after its first load: it removes entries of the others.
    assert 1 <= len(lists) <= (2 if "namespace_labels" in flags else 1)
    check_names(lab)
    check_texts(lab, stream.getvalue(), form)


def prepare(lab, seed: int, flags) -> None:
    """A cluster of 300 hostile objects, with a good Route of each kind and what it needs."""
    for text, raw in hostile.RAW.items():
        lab.kube.spell(text, raw)
    if flags is VXLAN:
        sdn(lab)
    shop = {"name": "shop", "labels": {"zone": "west"}}
    subset = {"addresses": [{"ip": "10.1.1.1"}], "ports": [{"name": "http", "port": 8080}]}
    lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": shop}, *NODES,
              *manifests.published("shop", "web", pods={"10.1.1.1": "n1"}), *good(""),
              {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
               "subsets": [subset]},
              *hostile.objects(seed, 300), *forged(seed, 30))


def forged(seed: int, count: int) -> list[dict]:
    """Routes whose certificates have names of that kind, one of them none that can be read."""
    pairs = {str(number): pair for number, pair in enumerate(hostile_certificates.many(seed, count))}
    pairs["-none"] = hostile_certificates.certificate(b"\xff")
    return [manifests.route(f"forged{name}", host=f"forged{name}.example.com", kind="edge", **pair.tls)
            for name, pair in pairs.items()]


def good(suffix: str) -> list[dict]:
    """The good Routes; those of one suffix have hosts of their own."""
    return [manifests.route(f"{name}{suffix}", host=f"{name}{suffix}.example.com", **fields)
            for name, fields in GOOD.items()]


def served(lab, suffix: str = "") -> bool:
    """True if all good Routes reach their pods."""
    for name, fields in GOOD.items():
        asked, tls = f"{name}{suffix}.example.com", bool(fields)
        virtual = f"/Common/{HTTPS if tls else HTTP}"
        decision = decide(lab.bigip.store, virtual, Request(asked, "/", sni=asked if tls else None, tls=tls))
        if decision.pool != "/Common/openshift_shop_web" or not decision.members:
            return False
    return True


def check_names(lab) -> None:
    """On the BIG-IP, and in all that was asked of it and of the API server."""
    paths = [item.path for kind in KINDS for item in lab.bigip.items(kind)]
    paths += [entry.path for entry in (*lab.bigip.log, *lab.kube.log)]
    for policy in lab.paths("ltm/policy"):
        rules = lab.bigip.get(f"ltm/policy/{policy.replace('/', '~')}")["rulesReference"].get("items", ())
        paths += [rule["name"] for rule in rules]
    assert [name for name in paths if not SAFE.fullmatch(name)] == []
    pools = [path for path in lab.paths("ltm/pool") if not ownership.owns_path("/Common", Pool.KIND, path)]
    assert pools == []


def check_texts(lab, log: str, form: str) -> None:
    """In the log, in statuses and in Events; and the log tells of no fault of ours."""
    lines = log.rstrip("\n").split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert "Traceback" not in log
    ignored = [line for line in lines if "object ignored" in line]
    assert len(ignored) > 50
    texts = [event["message"] for event in lab.kube.list("Event")]
    assert len([text for text in texts if "it is not for forged" in text]) > 5
    if form == "json":
        texts += [value for line in lines for value in json.loads(line).values() if isinstance(value, str)]
    for entry in lab.kube.log:  # a status that was written is one that can be read
        *_, namespace, _, name, subresource = ["", "", "", *entry.path.split("/")]
        written = entry.method == "PATCH" and subresource == "status" and entry.status == 200
        if written and (route := lab.kube.get("Route", namespace, name)):
            ours = condition.own(route["status"]["ingress"], "public") or {"conditions": []}  # removed since
            texts += [condition.get("message", "") for condition in ours["conditions"]]
    assert [text for text in texts if not text.isprintable()] == []
