"""Examples that ingress2gateway publishes, applied as they are: who answers, and what statuses say."""

import base64
from collections.abc import Iterator

import pytest

from mocks.kube import gateway_api
from tests.builders import identity
from tests.gateways import conditions, gateway_class
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.ingress2gateway import (
    ACCEPTED,
    COMMANDS,
    EMITTERS,
    INGRESS_NGINX,
    NGINX,
    TRAEFIK,
    Ask,
    Conditions,
    Example,
)
from tests.traffic.ingress2gateway_fragments import ISTIO, OPENAPI

EXAMPLES = {example.source: (number, example) for number, example in enumerate((
    *COMMANDS, *NGINX, *TRAEFIK, *EMITTERS, *OPENAPI, *ISTIO, *INGRESS_NGINX))}
FLAGS = {"sources": "gateway", "gateway_addresses": "10.9.0.0/24", "f5_http_vserver": "",
         "f5_https_vserver": ""}
SHOWN = identity("i2gw.example.com")
GOOD = {"Gateway": {"Accepted": ("True", "Accepted"), "Programmed": ("True", "Programmed")}, "listener": {
    "Accepted": ("True", "Accepted"), "Conflicted": ("False", "NoConflicts"),
    "ResolvedRefs": ("True", "ResolvedRefs"), "Programmed": ("True", "Programmed")}}


def placed(value: object, number: int) -> object:
    """Return a part of an object, whose namespaces are those of this example alone."""
    if isinstance(value, list):
        return [placed(each, number) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: f"{each}-{number}" if name == "namespace" else placed(each, number)
            for name, each in value.items()}


def name_of(obj: dict) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def objects(number: int, example: Example) -> Iterator[dict]:
    """Yield the objects that the API server accepts, each in its namespace."""
    for obj in example.objects:
        if name_of(obj) not in example.refused:
            yield placed(obj, number)


def backends(given: list[dict]) -> set[tuple[str, str, int, bool]]:
    """Namespace, name and port of each Service that routes name, and whether clients speak TLS with it."""
    return {(ref.get("namespace", obj["metadata"]["namespace"]), ref["name"], ref["port"],
             obj["kind"] == "TLSRoute")
            for obj in given if obj["kind"].endswith("Route") for rule in obj["spec"]["rules"]
            for ref in rule.get("backendRefs", ()) if ref["kind"] == "Service"}


def secrets(given: list[dict]) -> Iterator[dict]:
    """Yield the Secrets that listeners name."""
    for obj in (each for each in given if each["kind"] == "Gateway"):
        for listener in obj["spec"]["listeners"]:
            for ref in listener.get("tls", {}).get("certificateRefs", ()):
                yield {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {
                    "name": ref["name"], "namespace": ref.get("namespace", obj["metadata"]["namespace"])},
                    "data": {name: base64.b64encode(text.encode()).decode() for name, text in (
                        ("tls.crt", SHOWN.certificate), ("tls.key", SHOWN.key))}}


@pytest.fixture(scope="module")
def site(shared_site_of) -> Site:
    """A site with all examples; each has namespaces, pods, Gateways and addresses of its own."""
    site = shared_site_of(address="", gateway_api="v1.6")
    given = [obj for number, example in EXAMPLES.values() for obj in objects(number, example)]
    for number, (namespace, name, port, tls) in enumerate(sorted(backends(given))):
        site.serve(name, f"10.{1 + number // 250}.1.{1 + number % 250}", namespace=namespace, port=port,
                   tls=PODS if tls else None)
    classes = {obj["spec"]["gatewayClassName"] for obj in given if obj["kind"] == "Gateway"}
    site.apply(*map(gateway_class, classes), *secrets(given), *given)
    assert site.converge(**FLAGS) == []
    return site


def answer(site: Site, number: int, example: Example, ask: Ask) -> clients.Seen:
    """Ask at the address that the Gateway has in its status."""
    first = next(obj for obj in example.objects if obj["kind"] == "Gateway")["metadata"]
    namespace, name = ask.gateway.split("/") if ask.gateway else (first["namespace"], first["name"])
    gateway = site.kube.get("Gateway", f"{namespace}-{number}", name)
    (address,) = gateway["status"]["addresses"]
    where = site.bigip.listeners()[f"{address['value']}:{ask.port}"]
    secure = any(each["port"] == ask.port and each["protocol"] in ("HTTPS", "TLS")
                 for each in gateway["spec"]["listeners"])
    how = {"headers": list(ask.lines), "method": ask.method}
    return clients.python(where, ask.host, ask.path, **how) if secure else clients.plain(
        where, ask.host, ask.path, **how)


def check_answer(seen: clients.Seen, ask: Ask) -> None:
    if isinstance(ask.answer, int) or ask.status:
        assert (seen.status, seen.location) == (ask.status or ask.answer,
                                                ask.answer if ask.status else ""), ask
        return
    assert seen.pod.get("pod", str(seen.status)).rpartition("-")[0] == ask.answer, ask
    assert seen.pod["target"] == (ask.at_pod or ask.path), ask
    sent = {name.lower(): value for name, value in seen.pod["headers"]}
    for name, value in ask.sent.items():
        assert sent.get(name) == value, ask
    for name, value in ask.got.items():
        assert seen.headers.get(name) == value, ask


def check_statuses(site: Site, obj: dict, told: tuple[Conditions, ...] | None) -> None:
    """Args: told: conditions of a route by parent; None for ACCEPTED of each."""
    metadata = obj["metadata"]
    status = (site.kube.get(obj["kind"], metadata["namespace"], metadata["name"])).get("status") or {}
    if obj["kind"] == "Gateway":
        assert conditions(status["conditions"]) == GOOD["Gateway"]
        assert [conditions(each["conditions"]) for each in status["listeners"]] == [
            GOOD["listener"]] * len(obj["spec"]["listeners"])
    elif obj["kind"].endswith("Route"):
        entries = [conditions(each["conditions"]) for each in status.get("parents", ())]
        parents = obj["spec"].get("parentRefs", ())
        assert entries == list(told or (ACCEPTED,) * len(parents)), name_of(obj)


@pytest.mark.parametrize("source", EXAMPLES)
def test_an_example(site, source):
    """Each of its matches has its backend, filters act, and all conditions are known."""
    number, example = EXAMPLES[source]
    for ask in example.asks:
        check_answer(answer(site, number, example, ask), ask)
    for obj in objects(number, example):
        check_statuses(site, obj, example.told.get(name_of(obj)))


def test_what_the_api_server_refuses():
    """Objects that no CRD of v1.4 accepts never come to the router; all others are accepted."""
    for _, example in EXAMPLES.values():
        causes = {name_of(obj): [f"{field}: {text}" for _, text, field in gateway_api.faults(
            obj["kind"], obj, None)] for obj in example.objects}
        refusals = {name: texts for name, texts in causes.items() if texts}
        assert refusals.keys() == example.refused.keys(), (example.source, refusals)
        for name, words in example.refused.items():
            assert any(words in text for text in refusals[name]), (example.source, refusals[name])
