"""docs/helm: the objects of docs/deploy, by Helm; other values than those of the schema are refused."""

import json

import pytest

from tests.e2e.rendering import (
    CHART,
    EVERYTHING,
    ONE_NAMESPACE,
    TWO_REPLICAS,
    Objects,
    box_of,
    charted,
    helm,
    kustomized,
    settings,
)

COMMON_LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version",
                 "app.kubernetes.io/managed-by", "helm.sh/chart"}


def compared(objects: Objects) -> Objects:
    """Without what both may spell in two ways: labels, arguments and variables, the Namespace."""
    result = {}
    for key, obj in objects.items():
        obj = json.loads(json.dumps(obj))
        obj["metadata"].pop("labels", None)
        if key[0] == "Deployment":
            (box,) = obj["spec"]["template"]["spec"]["containers"]
            box["settings"] = settings(box)
            del box["args"], box["env"]
        result[key] = obj
    result.pop(("Namespace", "f5router"), None)
    return result


@pytest.mark.parametrize(("overlay", "values"), [
    ("vxlan", {"args": {"f5_internal_address": "10.3.89.213", "f5_vxlan_gateway_cidr": "10.131.0.5/14"}}),
    ("static-routes", {"args": {"f5_static_routes": True}}),
    ("node-ports", {"args": {"pool_member_type": "nodeport"}}),
    ("two-replicas", TWO_REPLICAS),
])
def test_the_chart_renders_what_kustomize_does(overlay, values):
    """Object by object, with the same settings."""
    ours, theirs = charted(values), kustomized(overlay)
    assert compared(ours) == compared(theirs)
    for key, obj in ours.items():
        labels = obj["metadata"]["labels"]
        assert labels.keys() >= COMMON_LABELS
        assert labels.items() >= theirs[key]["metadata"].get("labels", {}).items()


def granted(values: dict) -> set[tuple[str, str, str, str]]:
    """Kind of the role, its namespace, resource and verb, of all that the account may do."""
    objects = charted(values)
    return {(kind, obj["metadata"].get("namespace", ""), resource, verb)
            for (kind, name), obj in objects.items() if kind in ("Role", "ClusterRole")
            and objects[f"{kind}Binding", name]["roleRef"]["kind"] == kind
            for rule in obj["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


def test_rights_are_those_of_the_settings():
    """A kind that is not served is not read; without statuses none is written; one namespace is enough."""
    everything = granted({})
    assert {resource for _, _, resource, _ in everything} == {
        "routes", "routes/status", "ingresses", "ingresses/status", "ingressclasses", "ingressroutes",
        "tlscertificatedelegations", "gatewayclasses", "services", "endpointslices", "endpoints", "events"}
    routes = granted({"args": {"sources": "routes", "update_status": False}})
    assert {resource for _, _, resource, _ in routes} == {
        "routes", "services", "endpointslices", "endpoints", "events"}
    assert granted({"args": {"fields": "metadata.name=a"}}) == granted({"args": {"sources": "routes"}})
    gateways = granted({"args": {"gateway_addresses": "203.0.113.32/28"}})
    assert gateways == granted({"args": {"sources": "routes,ingress,ingressroutes,gateway"}}) > everything
    assert gateways == granted({"args": {"f5_vserver_address": "203.0.113.10"}})
    assert gateways == granted({"args": {"front_ends": "/etc/f5router/front-ends.yaml"}})
    more = {("ClusterRole", "", "namespaces", verb) for verb in ("get", "list", "watch")}
    assert granted({"args": {"namespace_labels": "a=b"}}) == everything | more
    limited = granted({"args": {"namespace": "shop"}})
    assert {right for right in limited if right[0] == "ClusterRole"} == more | {
        ("ClusterRole", "", "ingressclasses", verb) for verb in ("list", "watch")}
    assert {right[1] for right in limited if right[0] == "Role"} == {"shop"}
    assert {right[2:] for right in limited - more} == {
        right[2:] for right in everything if "gatewayclasses" not in right}
    assert limited == granted({"args": {"namespace": "shop", "f5_vserver_address": "203.0.113.10"}})
    without = charted({"rbac": {"create": False}})
    assert not any(kind.startswith(("Role", "ClusterRole")) for kind, _ in without)


def test_every_value_has_an_effect():
    """Each value differs from its default here, or in the other renderings, and stands in an object."""
    objects = charted(EVERYTHING)
    box = box_of(objects)
    spec = objects["Deployment", "f5router"]["spec"]["template"]["spec"]
    assert box["image"] == "registry.example.com/f5router:1"
    assert settings(box).items() >= {
        "hostname-template": '${name}.example.com "<&>"', "f5-http-vserver": "", "f5-timeout": "90",
        "status-rate": "0.5", "max-pool-members": "10000", "name": "f5router",
        "metrics-tls-cert-file": "/etc/metrics-tls/tls.crt",
        "stats-password-file": "/etc/metrics-login/password"}.items()
    assert {"name": "STATS_USERNAME", "value": "prometheus"} in box["env"]
    assert {"pages", "metrics-login", "metrics-tls"} <= {volume["name"] for volume in spec["volumes"]}
    assert {"pages", "metrics-login", "metrics-tls"} <= {mount["name"] for mount in box["volumeMounts"]}
    for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName"):
        assert spec[name] == EVERYTHING[name]
    assert objects["Secret", "bigip-login"]["stringData"] == {
        key: text for key, text in EVERYTHING["bigip_secret"].items() if key != "create"}
    (endpoint,) = objects["ServiceMonitor", "f5router"]["spec"]["endpoints"]
    assert endpoint == {
        "port": "metrics", "path": "/metrics", "interval": "30s", "scheme": "https", "basicAuth": {
            key: {"name": "f5router-stats", "key": key} for key in ("username", "password")}}
    policy = objects["NetworkPolicy", "f5router"]["spec"]
    assert policy["ingress"][0]["from"] == EVERYTHING["networkPolicy"]["from"]
    assert policy["egress"][1] == {"ports": [{"protocol": "TCP", "port": 443}],
                                   "to": EVERYTHING["networkPolicy"]["to"]}
    annotated = [objects[key]["metadata"]["annotations"] for key in (
        ("ServiceAccount", "f5router"), ("Service", "f5router-metrics"))]
    assert annotated == [{"a": "b"}, {"a": "b"}]
    alerts = json.dumps(objects["PrometheusRule", "f5router"])
    dashboard = json.loads(objects["ConfigMap", "f5router-dashboard"]["data"]["f5router.json"])
    assert f'"{EVERYTHING["runbooks"]}#f5routerabsent"' in alerts
    assert dashboard["templating"]["list"][-1]["current"]["value"] == EVERYTHING["runbooks"]
    assert "docs/alerts.md" not in alerts + json.dumps(dashboard)
    assert objects["IngressClass", "f5router"]["metadata"]["annotations"] == {
        "ingressclass.kubernetes.io/is-default-class": "true"}


def test_a_directory_that_a_flag_takes_strictly():
    """The variable alone passes over a certificate of a Service, and a directory without one."""
    box = box_of(charted({"args": {"default_certificate_dir": "/etc/tls"}}))
    assert box["args"] == ["run", "--default-certificate-dir=/etc/tls"]
    assert {"name": "DEFAULT_CERTIFICATE_DIR", "value": "/etc/tls"} in box["env"]


def test_two_releases_share_nothing():
    """Names and selectors of another release, in another namespace, are its own, but the class."""
    values = TWO_REPLICAS | {"ingressClass": {"create": False}, "bigip_files_secret": "",
                             "serviceAccount": {"create": False}}
    ours, others = charted(TWO_REPLICAS), charted(values, release="edge", namespace="edge")
    assert not ours.keys() & others.keys()
    assert {name for kind, name in others} <= {"edge-f5router", *(
        f"edge-f5router-{suffix}" for suffix in (
                "dashboard", "metrics", "lease", "nodes", "pod-networks", "ingressroutes"))}
    box = box_of(others, "edge-f5router")
    assert settings(box)["name"] == "edge-f5router"
    assert settings(box)["leader-elect-resource-name"] == "edge-f5router"
    assert settings(box)["leader-elect-resource-namespace"] == "edge"
    assert not [volume for volume in box["volumeMounts"] if volume["name"] == "bigip-files"]
    assert "f5-ca-bundle" not in settings(box)
    for (kind, _), obj in others.items():
        for subject in obj.get("subjects", ()):
            assert (subject["name"], subject["namespace"]) == ("default", "edge"), kind
    service = others["Service", "edge-f5router-metrics"]["spec"]["selector"]
    assert service == others["Deployment", "edge-f5router"]["spec"]["selector"]["matchLabels"] == {
        "app": "edge-f5router"}


@pytest.mark.parametrize(("values", "words"), [
    ({"replicas": 2}, "'replicas'"),
    ({"args": {"f5_statc_routes": True}}, "'f5_statc_routes'"),
    ({"args": {"f5_password": "secret"}}, "'f5_password'"),
    ({"args": {"f5_static_routes": "yes"}}, "/args/f5_static_routes"),
    ({"args": {"pool_member_type": "pods"}}, "/args/pool_member_type"),
    ({"args": {"f5_vxlan_gateway_cidr": "10.131.0.5/14"}}, "f5_internal_address"),
    ({"args": {"namespace": "a", "namespace_labels": "b"}}, "/args/namespace_labels"),
    ({"args": {"sources": "route"}}, "/args/sources"),
    ({"replicaCount": 2}, "/replicaCount"),
    ({"bigip_secret": {"create": True, "url": "https://b.example.com", "username": "u"}}, "password"),
    ({"bigip_login_secret": ""}, "/bigip_login_secret"),
    ({"podLabels": {"app": "other"}}, "'app'"),
    ({"extraEnv": [{"name": "ROUTER_F5_STATIC_ROUTES", "value": "true"}]}, "/extraEnv/0/name"),
    ({"networkPolicy": {"ports": ["443"]}}, "/networkPolicy/ports/0"),
    ({"serviceMonitor": {"endpoint": {"path": "/"}}}, "'path'"),
    ({"runbooks": "javascript:alert(1)"}, "/runbooks"),
], ids=str)
def test_wrong_values_are_refused(values, words):
    """Nothing is rendered, and the message has the place."""
    run = helm("template", "f5router", CHART, values=values)
    assert run.returncode != 0
    assert "schema" in run.stderr
    assert words in run.stderr
    assert run.stdout == ""


def test_lint():
    """Helm's own checks, with all templates in use."""
    for values in ({}, EVERYTHING, ONE_NAMESPACE):
        run = helm("lint", "--strict", CHART, values=values)
        assert run.returncode == 0, run.stdout
