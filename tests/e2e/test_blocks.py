"""Each block of code in the pages is run, or has its reason in places.py; those no other test runs, here."""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import yaml

from tests import manifests
from tests.alerts import promtool
from tests.builders import identity
from tests.e2e import places
from tests.e2e.deployment import container, document, pod_spec
from tests.e2e.pages import DOCS, Block, blocks
from tests.e2e.places import By, Elsewhere, NotRun, Typed, place_of
from tests.e2e.reader import Reader, lines_of
from tests.e2e.rendering import box_of, charted, variables
from tests.rows import rows
from tests.waiting import DEADLINE_S, until

ROOT = DOCS.parent
PAGES = sorted(os.path.relpath(path, DOCS) for path in (
    *DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "mocks").rglob("*.md")))


def all_blocks() -> Iterator[tuple[str, Block]]:
    for page in PAGES:
        for block in blocks(page):
            yield page, block


def chosen(kind: type | By) -> list[tuple[str, Block]]:
    """Blocks with this place."""
    return [(page, block) for page, block in all_blocks()
            for place in place_of(page, block.language, block.text)
            if place == kind or (isinstance(kind, type) and isinstance(place, kind))]


def block_of(function: str, page: str = "") -> Block:
    """The only block of a test function, or of a page with several."""
    (block,) = (block for name, block in chosen(By(function)) if page in ("", name))
    return block


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        yield Reader(stack, tmp_path_factory.mktemp("site"))


def test_every_block_has_a_place():
    """One each; no row is left from a block that is gone, and what a row names exists."""
    fitting = {(page, block.text.partition("\n")[0]): place_of(page, block.language, block.text)
             for page, block in all_blocks()}
    assert {key: fit for key, fit in fitting.items() if len(fit) != 1} == {}
    pages = list(all_blocks())
    assert [key for key in places.PLACES
            if not any(page == key[0] and block.text.startswith(key[1]) for page, block in pages)] == []
    assert places.ALL_OF.keys() <= {(page, block.language) for page, block in pages}
    for place in (*places.PLACES.values(), *places.ALL_OF.values()):
        match place:
            case Elsewhere(path):
                assert (ROOT / path).exists(), path
            case By(function):
                assert callable(globals().get(function)), function
            case NotRun(why):
                assert why


@pytest.mark.parametrize(("page", "block", "place"), [
    pytest.param(page, block, place, id=f"{page}: {block.text[:40]}")
    for page, block in chosen(Typed) for place in place_of(page, block.language, block.text)])
def test_typed(site, page, block, place):
    said, status = until(lambda: [result for result in [site.type(block.text)]
                                  if not place.again or place.words[0] in result[0]])[0]
    assert status == place.status, said
    assert [words for words in place.words if words not in said] == [], said


def test_installed_and_planned(site):
    """README.md: after the installation, the plan for another folder than the running router's."""
    install, *rest = block_of("test_installed_and_planned").text.splitlines()
    assert install == "pip install ."  # done: this test runs in it
    site.lab.bigip.put_object("auth/partition", {"name": "openshift"})
    site.lab.virtuals(partition="/openshift", address="10.0.0.2")
    said, status = site.type("\n".join(rest).strip())
    assert status == 0
    assert "/openshift/openshift_shop_web" in said


# --- objects ------------------------------------------------------------------------------------------


def services(*names: str, namespace: str = "shop") -> list[dict]:
    """Services with a pod, on the port that each is asked for."""
    ports = {"pay-v1": (("http", 8080),), "pay-v2": (("http", 8080),), "secure-web": (("https", 8443),)}
    return [obj for name in names for obj in manifests.service(
        namespace, name, pods=("10.1.7.1",), ports=ports.get(name, (("http", 80),)))]


def secret(namespace: str, name: str, host: str) -> dict:
    """A certificate and its key."""
    pair = identity(host)
    texts = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
            "type": "kubernetes.io/tls",
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}}


def test_examples_for_teams(site):
    """All Routes of the page at once: each is served, but those for which it names what is missing."""
    objects = [yaml.safe_load(block.text) for _, block in chosen(By("test_examples_for_teams"))]
    beside = services("api", "web-canary", "secure-web")
    site.lab.apply(*beside)
    # The host of one example is that of the Route that is always there.
    objects = [obj for obj in objects if obj["spec"]["host"] != "www.example.com"]
    site.served(*(obj for obj in objects if obj["metadata"]["name"] != "secret"))
    site.lab.apply(*(obj for obj in objects if obj["metadata"]["name"] == "secret"))
    until(lambda: "ExternalCertificateValidationFailed" in str(site.lab.kube.get("Route", "shop", "secret")))
    pair = secret("shop", "pay-tls", "pay.example.com")
    site.lab.apply(pair)
    until(lambda: site.admitted("secret") == "True")
    # Without the administrator's leave for wildcards, and for pods that nothing verifies:
    said, _ = site.type("f5router get routes -o wide", DEFAULT_DESTINATION_CA_PATH="")
    assert [line.split()[1] for line in said.splitlines() if "RouteNotAdmitted" in line] == [
        "reencrypt", "wildcard"]
    site.remove(pair, *objects, *beside)


def test_parts_of_routes(site):
    """routes.md, annotations.md: each part in a Route that is served, without a warning."""
    beside = services("web-canary")
    site.lab.apply(*beside)
    parts = [yaml.safe_load(block.text) for _, block in chosen(By("test_parts_of_routes"))]
    assert len(parts) == 4
    for number, piece in enumerate(parts):
        route = manifests.route(f"part-{number}", host="shop.example.com", path=f"/{number}")
        if "spec" not in piece and "metadata" not in piece:
            piece, route["spec"]["path"] = {"metadata": {"annotations": piece}}, ""
        route["metadata"] |= piece.get("metadata", {})
        route["spec"] |= piece.get("spec", {})
        site.served(route)
        assert [event["message"] for event in site.lab.kube.list("Event", "shop")
                if event["involvedObject"]["name"] == f"part-{number}" and event["type"] != "Normal"] == []
        site.remove(route)
    site.remove(*beside)


def test_example_of_ingress(site):
    """Both paths have their pools."""
    ingress = yaml.safe_load(block_of("test_example_of_ingress").text.replace("www.", "ingress."))
    beside = [*services("api"), secret("shop", "www-tls", "ingress.example.com")]
    site.lab.apply(*beside, ingress)
    until(lambda: site.lab.kube.get("Ingress", "shop", "shop").get("status"))
    said, _ = site.type("f5router get routes")
    assert [line.split()[-3:] for line in said.splitlines() if " Ingress " in line] == [
        ["/", "admitted", "-"], ["/api", "admitted", "-"]]
    site.remove(ingress, *beside)


def test_example_of_ingress_route(site):
    """Both are valid, and once they are programmed, `explain` begins with what the page has."""
    given, explained = (block.text.replace("www.example.com", "contour.example.com")
                        for _, block in chosen(By("test_example_of_ingress_route")))
    objects = [*yaml.safe_load_all(given), *services("web", "acme", namespace="platform"),
               *services("pay-v1", "pay-v2", namespace="payments"),
               secret("platform", "www-tls", "contour.example.com")]
    site.lab.apply(*objects)
    for namespace, name in (("platform", "www"), ("payments", "pay")):
        until(lambda key=(namespace, name): (site.lab.kube.get("IngressRoute", *key).get("status") or {}).get(
            "currentStatus") == "valid")
    command, expected = explained.removeprefix("$ ").split("\n", 1)
    text = until(lambda: (answer := site.type(command))[1] == 0 and answer[0], lambda: site.type(command))
    assert text.startswith(f"{expected}\n\nIngressRoute payments/pay: "), text
    site.remove(*objects)


def test_parts_of_the_deployment():
    """configuration.md: the variable, the mount and the volume are those of the Deployment."""
    piece = yaml.safe_load(block_of("test_parts_of_the_deployment").text)
    assert piece.keys() == {"env", "volumeMounts", "volumes"}
    for name, items in piece.items():
        assert [item for item in items if item not in (container() | pod_spec())[name]] == []


def test_settings_of_the_chart():
    """An empty value is given, and null is not."""
    values = yaml.safe_load(block_of("test_settings_of_the_chart").text)
    box = box_of(charted(values))
    assert box["args"] == ["run", "--f5-http-vserver="]
    given = variables(box)
    assert given["ROUTER_EXTERNAL_HOST_PARTITION_PATH"] == "/openshift"
    assert given["ROUTER_POOL_MEMBER_TYPE"] == "nodeport"
    assert "ROUTER_LOG_FORMAT" not in given


def test_two_replicas(site):
    """high-availability.md: the steps as they stand there, but no Deployment is rolled out here."""
    steps, shown = (block.text for _, block in chosen(By("test_two_replicas")))
    deployment = site.lab.kube.get("Deployment", "f5router", "f5router")
    ready = {"observedGeneration": 10, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    for command in lines_of(steps):
        if "rollout status" in command:
            site.lab.apply(site.lab.kube.get("Deployment", "f5router", "f5router") | {"status": ready})
        said, status = site.type(command)
        assert status == 0, said
    changed = site.lab.kube.get("Deployment", "f5router", "f5router")["spec"]
    assert changed["replicas"] == 2
    assert {"name": "ROUTER_LEADER_ELECT", "value": "true"} in changed["template"]["spec"]["containers"][0][
        "env"]
    site.lab.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {},
                    "metadata": {"namespace": "f5router", "name": "f5router"}})
    assert site.type(shown)[1] == 0
    site.lab.apply({key: deployment[key] for key in ("apiVersion", "kind", "spec")} | {
        "metadata": {"namespace": "f5router", "name": "f5router"}})


def test_uninstall_job(site):
    """maintenance.md: the Job has the container of the Deployment, which uninstalls and has no probes."""
    said, status = site.type(block_of("test_uninstall_job").text)
    assert status == 0, said
    job = site.lab.kube.get("Job", "f5router", "f5router-uninstall")
    (box,) = job["spec"]["template"]["spec"]["containers"]
    (ours,) = document("Deployment", "f5router")["spec"]["template"]["spec"]["containers"]
    assert box == {key: value for key, value in ours.items() if not key.endswith("Probe")} | {
        "args": ["uninstall", "--yes"]}
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_scrape_configuration(tmp_path):
    """It names the Service of docs/deploy; Debian's promtool knows nothing of a cluster."""
    (job,) = yaml.safe_load(block_of("test_scrape_configuration").text)
    assert job.pop("kubernetes_sd_configs") == [{"role": "endpoints", "namespaces": {"names": ["f5router"]}}]
    path = tmp_path / "prometheus.yaml"
    path.write_text(yaml.safe_dump({"scrape_configs": [job]}))
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", str(path))
    service = document("Service", job["relabel_configs"][0]["regex"])
    assert service["metadata"]["namespace"] == "f5router"


# --- what commands print ------------------------------------------------------------------------------


def test_what_doctor_prints(site):
    """With a password that is not right."""
    site.lab.bigip.put_object("auth/user", {"name": "f5router", "password": "Correct-Horse-7",
                                            "partitionAccess": [{"name": "all-partitions", "role": "admin"}]})
    folder = site.folder / "wrong"
    folder.mkdir()
    for name, text in (("url", site.lab.bigip.url), ("username", "f5router"), ("password", "wrong")):
        (folder / name).write_text(text)
    said, status = site.type("f5router doctor", ROUTER_EXTERNAL_HOST_CREDENTIALS_DIR=str(folder))
    assert status == 1
    expected = block_of("test_what_doctor_prints").text.replace("bigip.example.com", site.lab.bigip.address)
    expected = expected.replace("/etc/bigip-login", str(folder))
    assert " ".join(expected.split()) in " ".join(said.split())


def test_what_get_prints(site):
    ingress = manifests.ingress("site", ("i.example.com", "/", "web", 8080))
    site.lab.apply(ingress)
    until(lambda: site.lab.kube.get("Ingress", "shop", "site").get("status"))
    said, _ = site.type("f5router get routes")
    listed = [line.split() for line in said.splitlines()]
    expected = block_of("test_what_get_prints").text.splitlines()
    assert [line for line in expected if line.split() not in listed] == [], said
    site.remove(ingress)


def test_what_explain_prints(site):
    """The Service of the Route has no pods."""
    said, status = site.type("f5router explain route shop/hello")
    assert (said.split(), status) == (block_of("test_what_explain_prints").text.split(), 1)


def test_what_explain_request_prints(site):
    route = manifests.route("b", path="/api")
    site.served(route)
    url, *expected = block_of("test_what_explain_request_prints").text.splitlines()
    said, status = site.type(f"f5router explain request {url}")
    site.remove(route)
    # How many rules there are is a matter of the other tests.
    counted = re.compile(r"rule \d+ of \d+")
    assert [counted.sub("", line) for line in said.splitlines()] == [
        counted.sub("", line) for line in [url, *expected]]
    assert status == 0


CHANGING = re.compile(r"(uid|creationTimestamp|resourceVersion|generation): .*")
GHOST, SUBNET = "openshift-f5-node", "10.131.0."
DEFAULT = f"ghost-hostsubnet create --name {GHOST} --host-ip 10.3.89.213"


def ghost_subnet(site) -> str:
    """How the addresses of the HostSubnet begin; every new one has others than the page."""
    ghost = site.lab.kube.get("HostSubnet", None, GHOST)
    return ghost["subnet"].removesuffix("0/23") if ghost else SUBNET


def test_ghost_hostsubnet(site):
    """The page in its order: each command, and every line that it shows of what they print."""
    site.lab.apply(manifests.sdn_reader(), manifests.sdn_manager())
    for _, block in chosen(By("test_ghost_hostsubnet")):
        text = block.text.replace("--kubeconfig kubeconfig", f"--kubeconfig {site.lab.kubeconfig}")
        if "--dry-run" in text or text.startswith(f"$ {DEFAULT}\ncreated"):
            site.type(f"ghost-hostsubnet delete --name {GHOST}")
        if "$ " not in text:
            for command in lines_of(text):
                if "mocks.kube" not in command:  # the fake that runs already
                    said, status = site.type(command.replace(SUBNET, ghost_subnet(site)))
                    assert status == 0, said
        for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            before = ghost_subnet(site)
            command, *expected = piece.splitlines()
            said, _ = site.type(command.replace(SUBNET, before))
            shown = [CHANGING.sub("", " ".join(line.split())) for line in said.splitlines()]
            subnet = before if " delete " in command else ghost_subnet(site)
            lines = [CHANGING.sub("", " ".join(line.replace(SUBNET, subnet).split())) for line in expected]
            assert [line for line in lines if line not in ("", "...", *shown)] == [], said
        if "--dry-run" in text:
            site.type(DEFAULT)


def test_python(tmp_path, monkeypatch):
    """The examples for tests with the fakes."""
    monkeypatch.chdir(tmp_path)
    for _, block in chosen(By("test_python")):
        before = "" if block.text.startswith(("import", "from")) else (
            "import requests\nfrom mocks.bigip import FakeBigIP\n")
        exec(compile(before + block.text, "example", "exec"), {})


def test_fake_with_its_control(tmp_path):
    """The answers that it shows, but for numbers of ports."""
    ports = re.compile(r"127\.0\.0\.1:\d+|ca=\S+")
    start, *shown = block_of("test_fake_with_its_control").text.splitlines()
    command = [sys.executable, *shlex.split(start.removeprefix("$ "))[1:]]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = [process.stdout.readline().rstrip() for _ in range(3)]
            assert [ports.sub("", line) for line in said] == [ports.sub("", line) for line in shown[:3]]
            control = re.search(r"control=http://(\S+)", said[2])[1]
            listing, answer, pod = shown[3:]
            for command, expected in ((listing, answer), (pod, None)):
                typed = ports.sub(control, command.removeprefix("$ "), count=1).replace("curl", "curl -sSf")
                answered = subprocess.run(["bash", "-c", typed], check=True, capture_output=True, text=True,
                                          timeout=DEADLINE_S).stdout.strip()
                assert expected is None or ports.sub("", answered) == ports.sub("", expected)
        finally:
            process.kill()


# --- tmsh ---------------------------------------------------------------------------------------------


def test_tmsh(site):
    """The same commands over REST, in the order of the page: a BIG-IP takes them."""
    typed = [line for _, block in chosen(By("test_tmsh")) for line in block.text.splitlines()]
    assert [*dict.fromkeys(typed)] == [*places.TMSH]
    for command in typed:
        if command == "tmsh delete ltm snatpool openshift-ramp":  # the page: another translation first
            for name in ("ose-vserver", "https-ose-vserver"):
                site.lab.change("PATCH", f"ltm/virtual/~Common~{name}",
                                {"sourceAddressTranslation": {"type": "automap"}})
        site.lab.change(*places.TMSH[command])


@rows("command", [*places.TMSH])
def test_tmsh_and_rest_have_the_same_values(command):
    method, path, body = places.TMSH[command]
    verb = {"POST": "create", "PATCH": "modify", "DELETE": "delete"}[method]
    component, _, name = path.partition("/~Common~")
    kind = component.replace("/", " ")
    assert command.startswith((f"tmsh {verb} {kind} ", "tmsh save sys config"))
    fields = json.dumps((body or {}) | {"name": (body or {}).get("name", name)})
    values = [word for word in command.split()[2 + len(kind.split()):]
              if "." in word or word.startswith("openshift") or word in ("ipip", "none", "snat")]
    assert [word for word in values if word not in fields] == []
