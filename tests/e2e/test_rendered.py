"""Objects that kubectl renders of docs/kustomize, and Helm of docs/helm: valid, and run as they are.

The values of the chart, by its schema, are those that the router takes.
"""

import functools
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from f5router.config import config
from f5router.config.parsers import LOG_LEVELS
from f5router.model.errors import ConfigError
from tests import manifests
from tests.builders import identity
from tests.e2e import deployment
from tests.e2e.deployment import Pod
from tests.e2e.rendering import (
    CHART,
    EVERYTHING,
    ONE_NAMESPACE,
    SCHEMAS,
    TWO_REPLICAS,
    Objects,
    by_name,
    charted,
    kustomized,
)
from tests.e2e.site import EDGE, Site
from tests.feature.sdn import MACS, fdb, sdn
from tests.rows import rows

LOGIN = ("operator", "Correct-Horse-8")
METRICS = identity("127.0.0.1", ca="Metrics")
OPERATOR = {"ServiceMonitor", "PrometheusRule"}
"""Kinds of the Prometheus operator, which Kubernetes' schemas do not have; promtool reads the alerts."""


def problems(schema: dict, obj: dict) -> list[str]:
    """Return what a schema has against an object.

    The import takes a second and more, for grammars of addresses: only the process that runs these tests
    has to pay it.
    """
    import jsonschema

    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return [error.message for error in validator(schema).iter_errors(obj)]


@functools.cache
def definitions(path: Path) -> dict[tuple[str, str], dict]:
    """Schemas by apiVersion and kind; each has all of them, for those that it refers to."""
    schema = json.loads(path.read_text())
    return {
        ("/".join(filter(None, (kind["group"], kind["version"]))), kind["kind"]): schema | {
            "$ref": f"#/$defs/{name}"}
        for name, definition in schema["$defs"].items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())}


def test_the_schemas_refuse():
    """A field that does not exist, in the depth of a Deployment, and a value of another type."""
    assert len(SCHEMAS) == 2
    for path in SCHEMAS:
        schema = definitions(path)["apps/v1", "Deployment"]
        for change in ({"readOnlyy": True}, {"imagePullPolicy": 1}):
            obj = json.loads(json.dumps(deployment.document("Deployment", "f5router")))
            obj["spec"]["template"]["spec"]["containers"][0] |= change
            assert problems(schema, obj)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
@pytest.mark.parametrize("objects", [
    pytest.param(lambda: by_name(obj for path in deployment.FILES
                                 for obj in yaml.safe_load_all(path.read_text())), id="docs/deploy"),
    pytest.param(lambda: kustomized("vxlan"), id="vxlan"),
    pytest.param(lambda: kustomized("two-replicas"), id="two-replicas"),
    pytest.param(lambda: charted({}), id="chart"),
    pytest.param(lambda: charted(EVERYTHING), id="chart, every value"),
    pytest.param(lambda: charted(ONE_NAMESPACE), id="chart, one namespace"),
])
def test_a_cluster_accepts_it(objects, path):
    """By the schemas of the oldest and the newest Kubernetes that the package has; no unknown field."""
    for (kind, _), obj in objects().items():
        if kind not in OPERATOR:
            schema = definitions(path)[obj["apiVersion"], kind]
            assert problems(schema, obj) == []


def started(stack, folder, render: Callable[[Site], Objects], vxlan: bool) -> tuple[Site, Pod]:
    """The Site with what was rendered, some Routes and an Ingress; and the pod of the Deployment."""
    site = Site(stack, folder)
    objects = render(site)
    site.apply(*objects.values())
    site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
               *manifests.published("shop", "web", pods={"10.128.0.5": "n1"}, local=True),
               manifests.route("plain"),
               manifests.route("edge", host="edge.example.com", kind="edge",
                               certificate=EDGE.certificate, key=EDGE.key),
               manifests.ingress("site", ("i.example.com", "/", "web", 8080)))
    if vxlan:
        site.apply(manifests.sdn_reader())
        sdn(site)
    else:
        site.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)))
        site.bigip.put_object("net/self", {"name": "near", "partition": "Common",
                                           "address": "10.3.89.213/24", "vlan": "/Common/internal"})
    (workload,) = (obj for (kind, _), obj in objects.items() if kind == "Deployment")
    rendered = {name: obj["stringData"] for (kind, name), obj in objects.items() if kind == "Secret"}
    return site, site.start(workload=workload, secrets=rendered | {
        "metrics": {"tls.crt": METRICS.certificate, "tls.key": METRICS.key},
        "stats": {"username": LOGIN[0], "password": f"{LOGIN[1]}\n"}})


def has_routes(site: Site, pod: Pod) -> bool:
    """The Node's network has its route, and the pod holds the Lease."""
    return "/Common/openshift_pods_10.128.0.0_23" in site.paths("net/route") and "leading" in pod.log


def has_node_port(site: Site, pod: Pod) -> bool:
    """The Node is the member of the pool."""
    members = site.bigip.get("ltm/pool/~Common~openshift_shop_web")["membersReference"]["items"]
    return [member["name"] for member in members] == ["10.3.89.1:30080"]


def has_metrics_over_tls(site: Site, pod: Pod) -> bool:
    """With certificate and login of the Secrets that the chart names; the page, too."""
    authority = Path(site.kubeconfig).with_name("metrics-ca")
    authority.write_text(METRICS.issuer)
    return [pod.get(path, "https", verify=str(authority), auth=login).status_code
            for path in ("/metrics", "/") for login in (LOGIN, None)] == [200, 401] * 2


def other_release(site: Site) -> Objects:
    """The chart with all names and Secrets its own, metrics over TLS, and no files."""
    login = {"create": True, "url": site.bigip.url, "username": site.bigip.username,
             "password": site.bigip.password}
    return charted(
        {"bigip_login_secret": "edge-login", "bigip_secret": login, "bigip_files_secret": "",
         "serviceAccount": {"name": "edge"}, "metricsTLSSecret": "metrics", "metricsLoginSecret": "stats",
         "args": {"f5_insecure": True, "f5_503_page": False, "hold_off": "50ms"}},
        release="edge", namespace="edge")


@pytest.mark.parametrize(("render", "vxlan", "check"), [
    pytest.param(lambda site: kustomized("vxlan"), True, lambda site, pod: fdb(site) == MACS,
                 id="kustomize, vxlan"),
    pytest.param(lambda site: kustomized("node-ports"), False,
                 has_node_port,
                 id="kustomize, node ports"),
    pytest.param(lambda site: kustomized("two-replicas"), False, has_routes, id="kustomize, two replicas"),
    pytest.param(lambda site: charted(TWO_REPLICAS), False, has_routes, id="chart, two replicas"),
    pytest.param(lambda site: charted(ONE_NAMESPACE), False, lambda site, pod: True,
                 id="chart, one namespace"),
    pytest.param(other_release, False, has_metrics_over_tls, id="chart, another release"),
])
def test_the_router_runs_as_rendered(tmp_path, render, vxlan, check):
    """With exactly these arguments, variables, files and rights: ready, and no request is refused."""
    with ExitStack() as stack:
        site, pod = started(stack, tmp_path, render, vxlan)
        pod.until(lambda: pod.get(pod.box["readinessProbe"]).status_code == 200)
        assert pod.get(pod.box["livenessProbe"]).text == "ok"
        pod.until(lambda: all("True" in str(site.kube.get("Route", "shop", name).get("status"))
                              for name in ("plain", "edge")))
        pod.until(lambda: site.kube.get("Ingress", "shop", "site").get("status"))
        assert site.pool("edge.example.com", tls=True) == "/Common/openshift_shop_web"
        assert site.pool("i.example.com")
        assert check(site, pod)
        assert {entry.status for entry in site.kube.log} <= {200, 201}
        assert site.bigip.errors == []


UNITS = {"f5-internal-address": ("10.3.89.213", "10.3.89.214"),
         "f5-vxlan-gateway-cidr": ("10.131.0.5/14", "10.130.2.5/14"),
         "f5-host": ("b.example.com", "c.example.com")}
"""None goes without the others, and there are as many of each."""


def refused(name: str, value: object) -> tuple[bool, bool]:
    """True for the schema, and for the router, if it refuses a value."""
    text = value if isinstance(value, str) else json.dumps(value)
    units = text.count(",") + 1 if name in UNITS else 1
    both = {each: ",".join(values[:units]) for each, values in UNITS.items() if name in UNITS} | {name: text}
    given = {"f5-host": "b.example.com", "f5-username": "u", "f5-password": "p", **both}
    try:
        config.load(given, {}, config.read_text)
    except ConfigError as exc:
        router = any(problem.startswith(f"--{name}") for problem in exc.problems)
    else:
        router = False
    schema = json.loads((CHART / "values.schema.json").read_text())
    both[name] = value
    values = {"args": {name.replace("-", "_"): each for name, each in both.items()}}
    return bool(problems(schema, values)), router


@rows(("name", "wrong", "right"), [
    ("hold-off", ("", "5", "1 s", "s", "1d", "-1s", "1.2.3s"), ("0", "100ms", "0m1.5s", ".5s", "1.s", "2µs")),
    ("backend-check-interval", ("0", "5 s", "1w", "-1s", "1.5s"), ("", "5000", "7s", "1d")),
    ("f5-partition-path", ("/Common/ä", "/a b", "/a;b", "~"), ("/Common", "openshift", "/a/b", "//a/./b")),
    ("f5-node-partition", ("/a b",), ("", "/Common")),
    ("f5-http-vserver", ("/Common/a", "a b", "a~b"), ("", "ose-vserver", "a.b_c")),
    ("namespace", ("Shop", "a_b", "-a", "a.b", "x" * 64), ("", "shop", "a-1", "x" * 63)),
    ("router-canonical-hostname", ("Router.example.com", "a..b", "a_b", "*.a"), ("", "router.example.com")),
    ("f5-internal-address", ("10.3.89", "::1", "bigip", "10.3.89.213/24", "10.3.89.213,"),
     ("10.3.89.213", " 10.3.89.213 ", "10.3.89.213 , 10.3.89.214")),
    ("f5-vxlan-gateway-cidr", ("10.131.0.5", "10.131.0.5/31", "10.131.0.5/0", "::1/64", "10.131.0.5/14,x"),
     ("10.131.0.5/14", " 10.131.0.5/14 ,10.130.2.5/14")),
    ("ssl-min-version", ("TLSv1.4", "1.2", "tlsv1.2"), ("", "SSLv3", "TLSv1.0", "TLSv1.3")),
    ("metrics-tls-min-version", ("", "SSLv3", "1.4", "TLS1.2"), ("TLSv1.2", "VersionTLS12", "1.3", "12")),
    ("log-level", ("", "loud", "trace"), (*LOG_LEVELS, "INFO", "Warn")),
    ("f5-timeout", (0, 0.5, 3601, "90s", ""), (1, 90, 59.5, "90")),
    ("status-rate", (0, 1001), (0.5, 1000)),
    ("max-pool-members", (0, 10_001, -1), (1, 10_000)),
    ("f5-max-in-flight", (0, 33), (1, 32)),
    ("nodeport-exclude", ("ready", "not-ready,"), ("", "not-ready", " unschedulable , not-ready ")),
    ("sources", ("", "route", "routes;ingress"), ("routes", "ingress, routes")),
    ("f5-auth", ("", "digest"), ("token", "basic")),
])
def test_schema_and_router_agree(name, wrong, right):
    """Wrong values do not get as far as a pod that ends at once, and no right one is refused."""
    assert [value for value in wrong if refused(name, value) != (True, True)] == []
    assert [value for value in right if refused(name, value) != (False, False)] == []
