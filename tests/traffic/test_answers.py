"""Answers of `explain`, `get` and the status page: "+" if and only if requests get through.

Each case is a Route with a fault, or none, in the cluster or on the BIG-IP. Clients verify certificates. A
pod that does not listen is no case: without a health check nobody but the client knows.
"""

import http.client
import itertools
import random
import socket
import ssl
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from f5router.cli.look import Views, looked
from f5router.cli.pool_states import PoolReader
from f5router.model.cluster import Key
from f5router.model.limits import finish
from f5router.views import nodes, routes, snapshots
from f5router.views.nodes import Locator
from tests import manifests
from tests.builders import identity
from tests.examples import examples
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import DEADLINE_S

IDLED = "idling.alpha.openshift.io/idled-at"

CASES = 40
"""Routes of an example."""

SITE = identity("*.example.com", serial=81)
WILD = identity("*.wild.example.com", serial=82)
OTHER = identity("www.example.org", serial=83)
EXPIRED = identity("*.example.com", serial=84, expired=True)

KINDS = ("", "edge", "reencrypt", "passthrough")
CODES = {
    "no Service": "ServiceNotFound", "no pods": "NoEndpoints", "none ready": "NoEndpoints",
    "port name": "ServicePortNotFound", "port of the Service": "ServicePortNotFound",
    "UDP": "ServicePortNotFound",
    "ExternalName": "ExternalNameService", "idled": "ServiceIdled", "weight 0": "AllWeightsZero",
    "weight elsewhere": "ServiceNotFound", "claimed": "HostAlreadyClaimed",
    "bad path": "ExtendedValidationFailed",
    "expired": "CertificateExpired", "other name": "CertificateNameMismatch",
    "rule deleted": "RuleNotInPlace", "members deleted": "MemberNotInPlace",
    "member offline": "MemberDisabled",
}
"""Code of each fault."""

POLICIES = ("openshift_insecure_routes", "openshift_secure_routes")
GROUP = "ltm/data-group/internal/~Common~ssl_passthrough_servername_dg"

OF_DEVICE = ("rule deleted", "members deleted", "member offline")
OF_EDGE = ("expired", "other name")


class Case(NamedTuple):
    """A Route with a host of its own."""

    kind: str
    insecure: str
    path: str
    fault: str


def is_possible(case: Case) -> bool:
    """True for a Route that can be written as it is, with a fault that it can have."""
    if case.insecure and (not case.kind or (case.kind, case.insecure) == ("passthrough", "Allow")):
        return False
    if case.path and case.kind == "passthrough":
        return False
    return case.fault not in OF_EDGE or case.kind in ("edge", "reencrypt")


EVERY = [case for case in itertools.starmap(Case, itertools.product(
    KINDS, ("", "Allow", "Redirect"), ("", "/shop"), ("", *CODES))) if is_possible(case)]
"""All cases."""


class World:
    """Routes on both fakes, each with the requests that it should answer."""

    def __init__(self, site: Site, cases: list[Case]):
        self.site, self.cases = site, dict(enumerate(cases))
        for number, case in self.cases.items():
            site.apply(*self._objects(number, case))

    def host(self, number: int) -> str:
        return f"h{number}.example.com"

    def service(self, number: int) -> str:
        return f"s{number}"

    def _objects(self, number: int, case: Case) -> list[dict]:
        name, fault, address = self.service(number), case.fault, f"10.1.{number}.1"
        tls = PODS if case.kind in ("reencrypt", "passthrough") else None
        pair = (tls.certificate.encode(), tls.key.encode()) if tls else None
        self.site.pod(address, name, tls=pair)
        pair = {"expired": EXPIRED, "other name": OTHER}.get(fault, SITE)
        own = {"certificate": pair.certificate, "key": pair.key} if case.kind in ("edge", "reencrypt") else {}
        if case.kind == "reencrypt":
            own["destinationCACertificate"] = PODS.issuer
        path = "odd" if fault == "bad path" else case.path
        port = {"port name": "htpp", "port of the Service": 80}.get(fault, "")
        route = manifests.route(f"r{number}", host=self.host(number), path=path, service=name, kind=case.kind,
                                insecure=case.insecure, port=port, **own)
        service, slice_ = manifests.service("shop", name, pods=() if fault == "no pods" else (address,))
        service["spec"]["ports"][0]["port"] = 80
        self._spoil(fault, route, service, slice_)
        objects = [route, service, slice_]
        if fault == "no Service":
            return [route]
        if fault == "claimed":
            objects.append(manifests.route(f"o{number}", namespace="older", host=self.host(number), path=path,
                                           kind=case.kind, created="2020-01-01T00:00:00Z"))
        return objects

    def _spoil(self, fault: str, route: dict, service: dict, slice_: dict) -> None:
        if fault == "none ready":
            slice_["endpoints"][0]["conditions"] = {"ready": False}
        elif fault == "UDP":
            service["spec"]["ports"][0]["protocol"] = slice_["ports"][0]["protocol"] = "UDP"
        elif fault == "ExternalName":
            service["spec"]["type"], service["spec"]["externalName"] = "ExternalName", "www.example.org"
            slice_["endpoints"] = []
        elif fault == "idled":
            service["metadata"]["annotations"] = {IDLED: "2026-01-01T00:00:00Z"}
            slice_["endpoints"] = []
        elif fault == "weight 0":
            route["spec"]["to"]["weight"] = 0
        elif fault == "weight elsewhere":
            route["spec"]["alternateBackends"] = [{**route["spec"]["to"], "weight": 0}]
            route["spec"]["to"] = {"kind": "Service", "name": "missing", "weight": 100}

    def break_device(self, pools: dict[int, str]) -> None:
        """Do to the BIG-IP what the faults say; no router runs. Args: pools: path by Route."""
        for number, path in pools.items():
            case, pool = self.cases[number], f"ltm/pool/{path.replace('/', '~')}"
            members = self.site.bigip.request("GET", f"{pool}/members", {}).get("items") or []
            for member in members if case.fault == "member offline" else ():
                self.site.change("PATCH", f"{pool}/members/~Common~{member['name']}",
                                 {"session": "user-disabled", "state": "user-down"})
            if case.fault == "members deleted":
                self.site.change("PATCH", pool, {"members": []})
        self._delete_rules({number for number, case in self.cases.items() if case.fault == "rule deleted"})

    def _delete_rules(self, numbers: set[int]) -> None:
        """Delete the Rules and records of Routes as an administrator does."""
        names, request = {f"openshift_route_shop_r{number}" for number in numbers}, self.site.bigip.request
        for policy in POLICIES:
            rules = request("GET", f"ltm/policy/~Common~{policy}/rules", {})["items"]
            if going := {rule["name"] for rule in rules} & names:
                self.site.change("PATCH", f"ltm/policy/~Common~{policy}", {"createDraft": True})
                for name in going:
                    self.site.change("DELETE", f"ltm/policy/~Common~Drafts~{policy}/rules/{name}")
                self.site.change("POST", "ltm/policy", {
                    "command": "publish", "name": f"/Common/Drafts/{policy}"})
        hosts = {self.host(number) for number in numbers}
        kept = [each for each in request("GET", GROUP, {}).get("records") or [] if each["name"] not in hosts]
        self.site.change("PATCH", GROUP, {"records": kept})

    # --- requests ----------------------------------------------------------------------------

    def answers(self, number: int) -> dict[str, bool]:
        """Return by scheme whether a request gets through: to a pod of the Route, or to its redirect."""
        case = self.cases[number]
        asked = {}
        if case.kind:
            asked["https"] = self._secure(number, case)
        if not case.kind or case.insecure in ("Allow", "Redirect"):
            seen = clients.plain(self.site.http, self.host(number), case.path or "/")
            asked["http"] = self._is_right(number, seen.pod) or (
                case.insecure == "Redirect" and seen.status == 302)
        return asked

    def _secure(self, number: int, case: Case) -> bool:
        """Ask as a client that verifies does; of a passthrough pod the name is not its Route's."""
        context = ssl.create_default_context(cadata="\n".join({SITE.issuer, PODS.issuer, OTHER.issuer,
                                                                EXPIRED.issuer}))
        context.check_hostname = case.kind != "passthrough"
        try:
            with socket.create_connection(self.site.https, DEADLINE_S) as sock, context.wrap_socket(
                    sock, server_hostname=self.host(number)) as secure:
                secure.sendall(clients.request_bytes(self.host(number), case.path or "/"))
                reply = http.client.HTTPResponse(secure)
                reply.begin()
                return self._is_right(number, clients.Seen(
                    reply.status, {"content-type": reply.getheader("content-type", "")}, reply.read()).pod)
        except (OSError, http.client.HTTPException):
            return False

    def _is_right(self, number: int, pod: dict) -> bool:
        return pod.get("pod", "").rpartition("-")[0] == self.service(number)


def views(site: Site, **flags: str) -> dict[str, routes.RouteView]:
    """Return what `explain` shows, by name of the Route."""
    with looked(site.config(**flags), DEADLINE_S) as survey:
        return {view.name: view for view in Views(survey, PoolReader(survey.device)).routes(
            lambda route: route.namespace == "shop")}


def check(world: World, shown: dict[str, routes.RouteView], *, with_device: bool) -> None:
    """Compare what is shown with requests: of each Route, each port, and the injected cause."""
    for number, case in world.cases.items():
        view, asked = shown[f"r{number}"], world.answers(number)
        assert view.is_served == all(asked.values()), (case, asked, view.problems)
        codes = {problem.code for problem in view.problems if problem.loses}
        if case.fault and (with_device or case.fault not in OF_DEVICE) and not all(asked.values()):
            assert CODES[case.fault] in codes, (case, view.problems)


@settings(max_examples=examples(12), phases=(Phase.generate,))
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_a_plus_means_that_a_request_gets_through(tmp_path_factory, seed):
    """The page of a running router, and `explain` before and after somebody has changed the BIG-IP."""
    with ExitStack() as stack:
        world = World(Site(stack, tmp_path_factory.mktemp("site")), random.Random(seed).sample(EVERY, CASES))
        router = world.site.router()
        world.site.converge(router)
        locator, now = Locator(map(nodes.view, finish(snapshots.nodes(router.reconciler)))), datetime.now(UTC)
        keys = [Key("shop", f"r{number}") for number in world.cases]
        page = {key.name: routes.view(record, now, locator) for key in keys
                if (record := snapshots.route(router.reconciler, key)) is not None}
        check(world, page, with_device=False)
        check(world, views(world.site), with_device=False)
        world.break_device({number: pool.path for number in world.cases if (pool := page[f"r{number}"].pool)})
        check(world, views(world.site), with_device=True)
