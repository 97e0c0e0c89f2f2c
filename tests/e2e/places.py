"""Where each block of code in the pages is run, or why it is not: a new block needs a row here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """Typed by test_blocks, command by command, between the fakes."""

    words: tuple[str, ...] = ()
    """What the commands print, among other things."""
    status: int = 0
    """Exit status of the last one."""
    again: bool = False
    """Typed until they print it: the status page answers 503 while the router is busy."""


@dataclass(frozen=True, slots=True)
class By:
    """Run by this test function of test_blocks."""

    function: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Run by this test file."""

    path: str


@dataclass(frozen=True, slots=True)
class NotRun:
    """Not run here, nor by another test."""

    why: str


Place = Typed | By | Elsewhere | NotRun

PICTURE = NotRun("a drawing")
GHOST = By("test_ghost_hostsubnet")
GUIDE, QUICK_START = Elsewhere("tests/e2e/test_guide.py"), Elsewhere("tests/e2e/test_quick_start.py")

ALL_OF: dict[tuple[str, str], Place] = {
    ("guide.md", "sh"): GUIDE,
    ("guide.md", "tmsh"): GUIDE,
    ("deploy/README.md", "sh"): GUIDE,
    ("quick-start.md", "sh"): QUICK_START,
    ("quick-start.md", "yaml"): QUICK_START,
    ("quick-start.md", ""): QUICK_START,
    ("team-guide.md", "yaml"): By("test_examples_for_teams"),
    ("routes.md", "yaml"): By("test_parts_of_routes"),
    ("annotations.md", "yaml"): By("test_parts_of_routes"),
    ("ghost-hostsubnet.md", ""): GHOST,
    ("fake-bigip.md", "python"): By("test_python"),
    ("../mocks/README.md", "python"): By("test_python"),
    ("architecture.md", "mermaid"): PICTURE,
    ("front-ends.md", "yaml"): Elsewhere("tests/unit/config/test_front_ends_file.py"),
}
"""Blocks of a language that have one place, by page."""

PLACES: dict[tuple[str, str], Place] = {
    ("../README.md", "make demo"): Elsewhere("tests/e2e/test_demo.py"),
    ("../README.md", "pip install ."): By("test_installed_and_planned"),
    ("../mocks/README.md", "pip install '.[fakes]'"): Elsewhere("tests/project/test_package.py"),
    ("../mocks/README.md", "python -m mocks.bigip"): Elsewhere(
        "tests/mocks/bigip/dataplane/test_control.py"),
    ("alerts.md", "kubectl apply -f docs/deploy/monitoring/10-alerts.yaml"): Typed(
        ("prometheusrule.monitoring.coreos.com/f5router created",)),
    ("architecture.md", "Kubernetes API "): PICTURE,
    ("traffic.md", "when LB_FAILED {"): Elsewhere("tests/unit/desired/irules/test_unavailable.py"),
    ("bigip-pairs.md", "f5router run --f5-host=bigip1.example.com"): Elsewhere("tests/feature/test_pair.py"),
    ("commands.md", "BIG-IP bigip.example.com"): By("test_what_doctor_prints"),
    ("commands.md", "Objects of no single Route"): Elsewhere("tests/unit/plan/test_preview.py"),
    ("commands.md", "NAMESPACE  NAME   KIND"): By("test_what_get_prints"),
    ("commands.md", "Route shop/hello: admitted"): By("test_what_explain_prints"),
    ("commands.md", "f5router explain route shop/hello -o dot"): Typed(),
    ("commands.md", "http://www.example.com/api/x"): By("test_what_explain_request_prints"),
    ("configuration.md", "f5router run --f5-host=192.0.2.10"): Typed(('"create": 0', "f5router 0.")),
    ("configuration.md", "env:"): By("test_parts_of_the_deployment"),
    ("http.md", "ROUTER_HTTP_RESPONSE_HEADERS="): Typed(),
    ("pod-network.md", "oc patch network.operator cluster"): Typed(
        ("network.operator.openshift.io/cluster patched",)),
    ("configuration.md", "--allowed-policies="): Typed(),
    ("rights.md", "oc adm policy add-cluster-role-to-user system:router"): Typed(),
    ("rights.md", "oc create role read-tls"): Typed(("role.rbac", "rolebinding.rbac")),
    ("rights.md", "oc adm policy add-cluster-role-to-user system:sdn-reader"): Typed(),
    ("rights.md", "oc create clusterrole f5router-nodes"): Typed(("clusterrole.rbac",)),
    ("deploy/README.md", "podman run --rm --user 0"): Elsewhere(
        "tests/e2e/test_image.py"),
    ("fake-bigip.md", "$ python -m mocks.bigip"): By("test_fake_with_its_control"),
    **{("from-cis.md", begin): Elsewhere("tests/traffic/test_move_from_cis.py") for begin in (
        "f5router plan", "curl --fail", "f5router status clear")},
    ("from-haproxy.md", "oc set env deployment/router-default"): Elsewhere("tests/traffic/test_moves.py"),
    ("from-haproxy.md", "f5router doctor"): Elsewhere("tests/traffic/test_moves.py"),
    ("from-haproxy.md", "f5router get routes -o wide"): Typed(("HostAlreadyClaimed", "Warning")),
    ("from-haproxy.md", "f5router status clear --router-name=default"): Typed(
        ("router default: 1 Routes had its entry, 1 are cleared",)),
    ("from-haproxy.md", "oc patch ingresscontroller/default"): Typed(
        ("ingresscontroller.operator.openshift.io/default patched",)),
    ("from-original-router.md", "f5router adopt --dry-run"): Typed(),
    ("prepared-virtual-servers.md", "f5router adopt --virtual-servers --dry-run"): Elsewhere(
        "tests/feature/test_adopted_servers.py"),
    ("helm/f5router/README.md", "kubectl create namespace f5router"): Elsewhere("tests/e2e/test_release.py"),
    ("helm/f5router/README.md", "helm install f5router"): Elsewhere("tests/e2e/test_release.py"),
    ("helm/f5router/README.md", "helm upgrade f5router"): Elsewhere("tests/e2e/test_release.py"),
    ("helm/f5router/README.md", "args:"): By("test_settings_of_the_chart"),
    ("high-availability.md", "kubectl apply -f docs/deploy/replicas/10-lease.yaml"): By("test_two_replicas"),
    ("high-availability.md", "kubectl get lease f5router"): By("test_two_replicas"),
    ("ingress.md", "apiVersion:"): By("test_example_of_ingress"),
    ("ingress.md", "--f5-vserver-address"): Elsewhere("tests/traffic/test_ingress_conformance.py"),
    ("gateway-api.md", "apiVersion:"): Elsewhere("tests/traffic/test_gateways.py"),
    ("ingressroute.md", "apiVersion:"): By("test_example_of_ingress_route"),
    ("ingressroute.md", "$ f5router explain ingressroute"): By("test_example_of_ingress_route"),
    ("security.md", "# ls -l /var/tmp"): NotRun("a shell on the BIG-IP"),
    ("maintenance.md", "f5router status clear --router-name=old"): Typed(
        ("router old: 1 Routes had its entry, 1 are cleared",)),
    ("monitoring.md", "- job_name: f5router"): By("test_scrape_configuration"),
    ("maintenance.md", "kubectl get deployment f5router -n f5router -o json"): By("test_uninstall_job"),
    ("ramp-node.md", "client -> virtual server"): PICTURE,
    ("ramp-node.md", "oc adm manage-node"): Typed(),
    ("ramp-node.md", "ip tunnel add"): NotRun("a kernel need not have the module ipip, which it loads"),
    ("ramp-node.md", "iptables -I"): NotRun("the chain and the interface are those of OpenShift 3"),
    ("ramp-node.md", "tmsh create"): By("test_tmsh"),
    ("ramp-node.md", "tmsh delete"): By("test_tmsh"),
    ("ramp-node.md", "oc label node"): Typed(("labeled", "serviceaccount/ipfailover created")),
    ("sharding.md", "ROUTE_LABELS: router=public"): Typed(),
    ("sharding.md", "kubectl label namespace shop zone=west"): Typed(("namespace/shop labeled",)),
    ("sharding.md", "--name=public"): Typed(),
    ("status-page.md", "kubectl create secret generic f5router-stats"): Elsewhere(
        "tests/e2e/test_deploy.py"),
    ("status-page.md", "kubectl -n f5router port-forward"): NotRun(
        "the fake API server has no kubelet behind it that forwards ports; the page is opened at its own"),
    ("status-page.md", "curl -su operator:password"): Typed(
        ("bank/late HostAlreadyClaimed",), again=True),
    ("team-guide.md", "oc describe route NAME"): Typed(("HostAlreadyClaimed",)),
    ("troubleshooting.md", "f5router explain route NAMESPACE/NAME"): Typed(
        ("first broken link: ", "HostAlreadyClaimed"), status=1),
    ("troubleshooting.md", "f5router explain request"): Typed(("pool /Common/openshift_shop_web",)),
}
"""The other ones, by page and how they begin."""

TMSH: dict[str, tuple[str, str, dict | None]] = {
    "tmsh create net tunnels tunnel openshift-ramp profile ipip local-address 10.3.89.66"
    " remote-address 10.3.89.89": ("POST", "net/tunnels/tunnel", {
        "name": "openshift-ramp", "profile": "/Common/ipip", "localAddress": "10.3.89.66",
        "remoteAddress": "10.3.89.89"}),
    "tmsh create net self openshift-ramp address 10.3.91.216/24 vlan openshift-ramp allow-service none": (
        "POST", "net/self", {"name": "openshift-ramp", "address": "10.3.91.216/24",
                             "vlan": "/Common/openshift-ramp", "allowService": "none"}),
    "tmsh create net route openshift-ramp network 10.128.0.0/14 interface openshift-ramp": (
        "POST", "net/route", {"name": "openshift-ramp", "network": "10.128.0.0/14",
                              "tmInterface": "/Common/openshift-ramp"}),
    "tmsh create ltm snatpool openshift-ramp members add { 10.3.91.216 }": (
        "POST", "ltm/snatpool", {"name": "openshift-ramp", "members": ["/Common/10.3.91.216"]}),
    **{f"tmsh modify ltm virtual {name} source-address-translation {{ type snat pool openshift-ramp }}": (
        "PATCH", f"ltm/virtual/~Common~{name}",
        {"sourceAddressTranslation": {"type": "snat", "pool": "/Common/openshift-ramp"}})
       for name in ("ose-vserver", "https-ose-vserver")},
    "tmsh save sys config": ("POST", "sys/config", {"command": "save"}),
    "tmsh delete ltm snatpool openshift-ramp": ("DELETE", "ltm/snatpool/~Common~openshift-ramp", None),
    "tmsh delete net route openshift-ramp": ("DELETE", "net/route/~Common~openshift-ramp", None),
    "tmsh delete net self openshift-ramp": ("DELETE", "net/self/~Common~openshift-ramp", None),
    "tmsh delete net tunnels tunnel openshift-ramp": (
        "DELETE", "net/tunnels/tunnel/~Common~openshift-ramp", None),
}
"""Method, path and body that do over REST what a command does in tmsh, which has no shell here.

Source: clouddocs.f5.com, tmsh reference (net tunnels tunnel, net self, net route, ltm snatpool, ltm virtual)
and iControl REST user guide: components of a command are the path, options the fields in camel case.
"""


def place_of(page: str, language: str, text: str) -> list[Place]:
    """Return the rows that fit a block: one, if the table is right."""
    rows = [place for (name, begin), place in PLACES.items() if name == page and text.startswith(begin)]
    return rows or [place for key, place in ALL_OF.items() if key == (page, language)]
