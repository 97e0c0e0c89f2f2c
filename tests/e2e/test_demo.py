"""The demo, as `make demo` runs it: real processes, what they print, how they end."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from mocks.demo import asking, expected
from mocks.demo.processes import DemoError
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]

HELLO = ("openshift_docs_service-name", "10.128.0.11:8080, 10.129.0.12:8080")
WEB = ("openshift_shop_web", "10.128.0.31:8080, 10.129.0.32:8080")
PRESS = "10.128.0.71:8080, 10.129.0.72:8080"
SHOWN = {
    "docs/host-route": ("host.example.com", "unsecured", "80   rule", *HELLO, "Admitted"),
    "docs/no-route-hostname": ("(no host)", "unsecured", "rejected"),
    "docs/portal-docs": (
        "portal.example.com/docs", "IngressRoute, TLS", "that of portal-tls", "80   rule: redirect",
        "443  rule", "openshift_docs_service-name_http__", HELLO[1], "Admitted"),
    "docs/route-alternate-service": (
        "alternate.example.com", "80   rule", "openshift_docs_service-name___", "10.128.0.14:8080",
        "Admitted"),
    "docs/route-edge-secured": ("edge.example.com", "own certificate", "443  rule", *HELLO, "Admitted"),
    "docs/route-edge-secured-allow-insecure": (
        "edge-allow.example.com", "edge, Allow", "default certificate", "80   rule", "443  rule", *HELLO,
        "Admitted"),
    "docs/route-edge-secured-redirect-insecure": (
        "edge-redirect.example.com", "edge, Redirect", "80   rule: redirect", "443  rule", *HELLO,
        "Admitted"),
    "docs/route-passthrough-secured": (
        "passthrough.example.com", "passthrough", "443  record", "openshift_docs_service-tls ",
        "10.128.0.21:8443, 10.129.0.22:8443", "Admitted"),
    "docs/route-pt-secured": (
        "reencrypt.example.com", "re-encrypt", "own certificate", "443  rule, verified TLS",
        "openshift_docs_service-tls__", "10.128.0.21:8443, 10.129.0.22:8443", "Admitted"),
    "docs/route-unsecured": ("www.example.com", "unsecured", "80   rule", *HELLO, "Admitted"),
    "docs/route-unsecured-path": ("www.example.com/test", "unsecured", "80   rule", *HELLO, "Admitted"),
    "docs/route-wildcard": ("wildcard.example.com", "rejected"),
    "news/magazine": (
        "magazine.example.com/issues", "Ingress, TLS", "own certificate", "80   rule: redirect", "443  rule",
        "openshift_news_press_http", PRESS, "Admitted"),
    "news/portal": (
        "portal.example.com", "IngressRoute, TLS", "own certificate", "80   rule: redirect", "443  rule",
        "openshift_news_press_http__", PRESS, "Admitted"),
    "shop/api": (
        "shop.example.com/api", "edge, None", "that of web", "443  rule", "openshift_shop_api_http",
        "10.128.0.41:9000", "Admitted"),
    "shop/images": ("shop.example.com/static/images", "unsecured", "80   rule", *WEB, "Admitted"),
    "shop/ledger": (
        "ledger.example.com", "passthrough, Redirect", "80   rule: redirect", "443  record",
        "openshift_shop_ledger", "10.128.0.61:8443", "Admitted"),
    "shop/newsletter": ("newsletter.example.com", "edge", "rejected"),
    "shop/payments": (
        "payments.example.com", "re-encrypt, Redirect", "own certificate", "80   rule: redirect",
        "443  rule, verified TLS", "openshift_shop_payments__", "Admitted"),
    "shop/payments-test": (
        "payments-test.example.com", "re-encrypt, Allow", "default certificate",
        "80   rule, unverified TLS", "443  rule, unverified TLS", "openshift_shop_payments__", "Admitted"),
    "shop/web": (
        "shop.example.com", "edge, Redirect", "own certificate", "80   rule: redirect", "443  rule", *WEB,
        "Admitted"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the demo makes its temporary files."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def once(folder) -> subprocess.CompletedProcess:
    """The demo from start to end; its output is text."""
    return subprocess.run(
        _command("--once"), cwd=ROOT, env=_environment(folder), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=DEADLINE_S,
    )


@pytest.fixture
def start(tmp_path) -> Iterator:
    """start(): the demo, staying up, with its output in a file; killed at the end of the test."""
    running = []

    def start() -> tuple[subprocess.Popen, Path]:
        output = tmp_path / "output"
        with output.open("wb") as file:
            running.append(subprocess.Popen(
                _command(), cwd=ROOT, env=_environment(tmp_path), stdout=file, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True,
            ))
        return running[-1], output

    yield start
    for process in running:
        process.kill()
        process.wait()


def test_it_ends_by_itself_with_success(once):
    """Exit status 0, and nothing on standard error."""
    assert (once.returncode, once.stderr) == (0, ""), once.stdout


@pytest.mark.parametrize("name", SHOWN)
def test_a_route_is_in_the_table(once, name):
    """Host and path, kind, place on the BIG-IP, pool, members and status stand in the Route's lines."""
    lines = _lines_of(once.stdout, name)
    for text in SHOWN[name]:
        assert text in lines


def test_the_table_has_every_route(once):
    """No Route is shown that is not listed here."""
    table = once.stdout.split("\nrule ")[0]
    assert set(re.findall(r"^((?:docs|news|shop)/[a-z-]+) ", table, re.MULTILINE)) == SHOWN.keys()


@pytest.mark.parametrize(("name", "reason", "message"), [
    ("docs/no-route-hostname", "NoHostValue", "spec.host: no host value"),
    ("docs/route-wildcard", "RouteNotAdmitted", "spec.wildcardPolicy"),
    ("shop/newsletter", "ExtendedValidationFailed", "spec.tls.key: the key does not match the certificate"),
])
def test_rejections_have_reasons(once, name, reason, message):
    """The message of a Route's status is shown."""
    rejections = once.stdout.split("rejected Route")[1]
    assert re.search(rf"^{name} +{reason} +{re.escape(message)}", rejections, re.MULTILINE)


@pytest.mark.parametrize(("title", "calls"), [
    ("A third Node joins: 1 write",
     [("POST", "net/fdb/tunnel/~Common~vxlan5000/records", "0a:0a:0a:03:59:03")]),
    ("Two more pods of Service shop/web, on that Node: 1 write",
     [("PATCH", "ltm/pool/~Common~openshift_shop_web", "4 members")]),
    ("A new Route, shop/sale: 7 writes",
     [("PATCH", "ltm/policy/~Common~openshift_secure_routes", "createDraft"),
      ("POST", "ltm/policy/~Common~Drafts~openshift_secure_routes/rules", "openshift_route_shop_sale__3"),
      ("POST", "ltm/policy", "publish openshift_secure_routes"),
      ("PATCH", "ltm/policy/~Common~openshift_insecure_routes", "createDraft"),
      ("POST", "ltm/policy/~Common~Drafts~openshift_insecure_routes/rules", "openshift_route_shop_sale"),
      ("POST", "ltm/policy/~Common~Drafts~openshift_insecure_routes/rules", "openshift_route_shop_sale__3"),
      ("POST", "ltm/policy", "publish openshift_insecure_routes")]),
])
def test_the_calls_of_a_change_are_shown(once, title, calls):
    """How many writes, and each with its parts. Reads may be those that it makes every few seconds."""
    match = re.search(rf"{re.escape(title)}, \d+ reads?, in .*", once.stdout)
    assert match
    lines = once.stdout[match.start():].splitlines()[3 : 3 + len(calls)]
    for line, (method, path, body) in zip(lines, calls, strict=True):
        assert re.fullmatch(rf"{method} +{re.escape(path)} +.*{body}.* +200", line.rstrip())


def test_the_gateway_is_that_of_the_ghost_host_subnet(once):
    """The commands of an administrator, what they print, and where it ends up."""
    assert re.search(r"\$ ghost-hostsubnet create --name=openshift-f5-node --host-ip=10\.3\.89\.213$",
                     once.stdout, re.MULTILINE)
    assert re.search(r"\$ ghost-hostsubnet gateway --name=openshift-f5-node\n +10\.130\.0\.5/14$",
                     once.stdout, re.MULTILINE)
    assert re.search(r"^self IP +10\.130\.0\.5/14 +on vxlan5000$", once.stdout, re.MULTILINE)
    assert re.search(r"^tunnel +vxlan5000 +VNID 0, from 10\.3\.89\.213$", once.stdout, re.MULTILINE)
    assert re.search(r"^VxLAN profile +vxlan-ose +multipoint, UDP port 4789$", once.stdout, re.MULTILINE)


def test_the_records_of_the_nodes(once):
    """Two at first, a third when its Node has joined."""
    before, after = re.findall(r"^FDB record .*\n-.*\n((?:0a:0a:.*\n)+)", once.stdout, re.MULTILINE)
    nodes = [["0a:0a:0a:03:59:01", "10.3.89.1", "node-1"], ["0a:0a:0a:03:59:02", "10.3.89.2", "node-2"]]
    assert [line.split() for line in before.splitlines()] == nodes
    assert [line.split() for line in after.splitlines()] == [
        *nodes, ["0a:0a:0a:03:59:03", "10.3.89.3", "node-3"]]


@pytest.mark.parametrize("wrong", [
    {"profile": "none, UDP port 4789"}, {"tunnel": "VNID 1, from 10.3.89.213"}, {"self_ip": "10.130.0.5/23"},
    {"nodes": {}},
])
def test_the_network_is_checked(wrong):
    """Anything that is otherwise keeps the demo from success."""
    network = replace(expected.AT_START.network, **wrong)
    (name,) = wrong
    (line,) = (line for line in expected.differences([], network, expected.AT_START) if "Route" not in line)
    assert line.startswith(f"pod network: {name} is ")
    assert not [line for line in expected.differences([], expected.AT_START.network, expected.AT_START)
                if "Route" not in line]


def test_the_fixed_route_gets_its_certificate_by_scp(once):
    """Certificate and key are two files."""
    assert re.search(r"^Route shop/newsletter gets the right key: .*, 2 files by scp", once.stdout, re.M)


def test_a_second_plan_is_empty(once):
    """`f5router plan` at the end finds nothing to do."""
    assert "Nothing to do: the BIG-IP is in step with the cluster." in once.stdout


def test_the_address_of_the_status_page_is_shown(once):
    assert re.search(r"^  status page at http://127\.0\.0\.1:\d+/$", once.stdout, re.M)


def test_the_delegation_is_explained(once):
    """`f5router explain` prints the tree from the root to the Services, and the way to the pods."""
    tree = once.stdout.split("f5router explain ingressroute news/portal:")[1].split("Is anything left")[0]
    for text in ("root news/portal: portal.example.com", "/docs -> Service docs/service-name port http",
                 "IngressRoute docs/portal-docs: admitted", "+ member"):
        assert text in tree


def test_a_gateway_gets_an_address_of_its_own(once):
    """Its listeners are programmed, its HTTPRoutes served, and requests answered as they say."""
    assert re.search(r"^A Gateway and two HTTPRoutes: \d+ writes", once.stdout, re.MULTILINE)
    assert "edge/blog has the address 192.0.2.97, of 192.0.2.96/28" in once.stdout
    for row in (r"http +1 +True", r"https +1 +True", r"  news +blog +blog\.example\.com +1/1 +admitted +-",
                r"  news +blog-to-https +blog\.example\.com +1/1 +admitted +-"):
        assert re.search(rf"^{row} *$", once.stdout, re.MULTILINE), row
    answers = {(command.split()[-1].split(":")[0], path): said
               for command, host, path, said in CURL.findall(once.stdout) if host == "blog.example.com"}
    assert (answers["http", "/posts"], answers["https", "/"]) == ("301 https://blog.example.com/posts", "404")
    assert re.fullmatch(r"press-10\.\S+, asked by HTTP", answers["https", "/posts"])


CURL = re.compile(r"^  \$ (curl .*/([a-z-]+\.example\.com):\d+(/\S*))\n    (.*)$", re.MULTILINE)


def test_each_route_is_asked(once):
    """Every Route that is served, on each of its ports, and a host that nobody has."""
    answers = {(command.split()[-1].split(":")[0], host, path): said
               for command, host, path, said in CURL.findall(once.stdout)}
    assert answers["http", "nobody.example.com", "/"] == "503"
    assert answers["http", "shop.example.com", "/"] == "302 https://shop.example.com/"
    assert re.fullmatch(r"web-10\.\S+, asked by HTTP", answers["https", "shop.example.com", "/"])
    assert answers["https", "shop.example.com", "/api"] == "api-10.128.0.41, asked by HTTP"
    assert re.fullmatch(r"payments-10\.\S+, asked by TLS", answers["https", "payments.example.com", "/"])
    assert answers["https", "ledger.example.com", "/"] == "ledger-10.128.0.61, asked by TLS"
    assert answers["http", "portal.example.com", "/docs"] == "301 https://portal.example.com/docs"
    for host, path, name in (("portal", "/docs", "service-name"), ("magazine", "/issues", "press")):
        answer = answers["https", f"{host}.example.com", path]
        assert re.fullmatch(rf"{name}-10\.\S+, asked by HTTP", answer)
    hosts = {text for name, (text, *rest) in SHOWN.items() if "Admitted" in rest}
    assert hosts <= {host + path.rstrip("/") for _, host, path in answers}


def try_commands(printed: str) -> None:
    """Run commands of the demo in another terminal, also one for pods that came while it ran."""
    said = {}
    for command, host, path, _ in CURL.findall(printed):
        tls = "--cacert" in command and host in ("shop.example.com", "ledger.example.com")
        if tls or path == "/summer":
            said[host + path] = json.loads(subprocess.check_output(
                command, shell=True, text=True, timeout=DEADLINE_S, env=os.environ | {"no_proxy": "*"}))
    assert said.keys() == {"shop.example.com/", "shop.example.com/api", "ledger.example.com/",
                           "sale.example.com/summer"}
    assert {pod["namespace"] for pod in said.values()} == {"shop"}


def look_around(printed: str) -> None:
    """Run what the demo prints to try next; what it has run itself, and what needs an editor, is left out."""
    printed = printed.split("In another terminal, in this directory:")[1]
    (page,) = re.findall(r"# in a browser: (\S+)", printed)
    with requests.Session() as session:
        session.trust_env = False
        assert "<title>f5router</title>" in session.get(page, timeout=DEADLINE_S).text
    commands = {words: line.strip() for line in printed.splitlines()
                for words in re.findall(r"(?:f5router|kubectl) [a-z-].*?(?=\)?$)", line)}
    (export,) = re.findall(r"export KUBECONFIG=\S+", printed)
    expected = {"f5router get routes": (0, "payments-test"), "f5router doctor": (0, " 0 failures"),
                "f5router explain route docs/route-wildcard": (1, "RouteNotAdmitted"),
                "f5router explain request https://shop.example.com/api": (0, "it is Route shop/api"),
                "f5router explain gateway edge/blog": (0, "+ listener https"),
                "kubectl get routes,ingresses,ingressroutes,endpointslices -A": (0, "route-wildcard"),
                "kubectl get nodes,hostsubnets": (0, "openshift-f5-node")}
    for words, (status, said) in expected.items():
        done = subprocess.run(f"{export}; {commands.pop(words)}", shell=True, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, timeout=DEADLINE_S)
        assert (done.returncode, said in done.stdout) == (status, True), done.stdout
    assert sorted(commands) == [
        "f5router explain ingressroute news/portal", "f5router plan --log-level=warning",
        "kubectl -n shop edit route web", "kubectl delete node node-3"]


def test_an_answer_by_somebody_else_is_noticed(monkeypatch, tmp_path):
    """The demo fails then."""
    curl = tmp_path / "curl"
    curl.write_text("""#!/bin/sh
printf '%s' '{"pod": "web-10.0.0.1", "namespace": "rival", "tls": null}
200 '""")
    curl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    good = asking.Request(("curl", "-s", "http://x"), "a pod of rival/web, asked by HTTP")
    assert asking.ask(good) == "web-10.0.0.1, asked by HTTP"
    for expected_ in ("a pod of shop/web, asked by HTTP", "a pod of rival/web, asked by TLS", "503"):
        with pytest.raises(DemoError, match="was answered by a pod of rival/web"):
            asking.ask(replace(good, expected=expected_))


def test_nothing_is_left_behind(once, folder):
    """The temporary files are gone."""
    assert re.search(rf"log in {folder}/", once.stdout)
    assert list(folder.iterdir()) == []


def test_it_stays_up_until_interrupted(start, tmp_path):
    """Then it ends with success, its servers stop, and its files are gone; also when nothing is to do.

    The commands that it prints work as long as it is up. SIGTERM has the same handler: see the next test.
    """
    process, output = start()
    _wait_for("f5router plan --log", process, output)
    try_commands(output.read_text())
    look_around(output.read_text())
    _wait_for("configuration saved", process, next(tmp_path.glob("f5router-demo-*/f5router-run.log")))
    ports = [int(port) for port in re.findall(r"https://127\.0\.0\.1:(\d+),", output.read_text())]
    shown = [_certificate(port) for port in ports]
    assert len(shown) == 2
    assert None not in shown
    assert list(tmp_path.glob("f5router-demo-*/kubeconfig"))
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_S) == 0, output.read_text()
    # By then a port may be another process's.
    assert not {_certificate(port) for port in ports} & set(shown)
    assert list(tmp_path.glob("f5router-demo-*")) == []


def test_interrupted_early_it_cleans_up(start, tmp_path):
    """Exit status 130: whether all is well is not known."""
    process, output = start()
    _wait_for("f5router run, log in", process, output)
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 130, output.read_text()
    assert list(tmp_path.glob("f5router-demo-*")) == []


@pytest.mark.parametrize(("arguments", "once"), [
    ((), False), (("ONCE=1",), True), (("ONCE=0",), False), (("ONCE=",), False),
])
def test_make_demo_runs_it(arguments, once):
    """ONCE=1 makes it end by itself."""
    process = subprocess.run(["make", "-n", "demo", *arguments], cwd=ROOT, capture_output=True, text=True)
    line = next(line for line in process.stdout.splitlines() if "-m mocks.demo" in line)
    assert ("--once" in line) is once


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-u", "-m", "mocks.demo", *arguments]


def _environment(folder: Path) -> dict[str, str]:
    """A user's environment with a wide terminal, and settings that must not disturb the demo."""
    return os.environ | {
        "TMPDIR": str(folder), "COLUMNS": "200", "ROUTER_EXTERNAL_HOST_HOSTNAME": "192.0.2.1",
        "ROUTER_ALLOWED_DOMAINS": "nothing.test", "KUBECONFIG": "/nonexistent",
        "https_proxy": "http://192.0.2.1:3128", "HTTPS_PROXY": "http://192.0.2.1:3128",
    }


def _lines_of(output: str, name: str) -> str:
    """The two lines of a Route in the table."""
    lines = output.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{name} "))
    return "\n".join(f"{line} " for line in lines[at : at + 2])


def _wait_for(text: str, process: subprocess.Popen, output: Path) -> None:
    """Until it is printed. Fails when the process ends before."""
    until(lambda: text in output.read_text() or process.poll() is not None, output.read_text)
    assert text in output.read_text() or process.poll() is None, output.read_text()


def _certificate(port: int) -> str | None:
    """Return the certificate that a server shows there; None for no TLS server."""
    try:
        return ssl.get_server_certificate(("127.0.0.1", port), timeout=DEADLINE_S)
    except OSError:
        return None
