"""Nothing secret leaves: marked passwords, tokens and keys go through all, and every output is searched."""

import base64
import binascii
import io
import json
import secrets
import threading
import traceback
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner

from f5router.app import launch, status_source
from f5router.cli.main import main
from f5router.logs import log_output
from tests import manifests
from tests.builders import identity
from tests.feature.conftest import Lab
from tests.feature.test_external_certificates import secret
from tests.waiting import DEADLINE_S, until

INLINE, NAMED, PODS = (identity(f"{name}.example.com") for name in ("inline", "named", "pods"))
STATUS = ("", "readyz?verbose", "healthz?verbose", "metrics", "page.js", "api/v1/routes", "api/v1/nodes",
          "api/v1/routes/shop/inline", "api/v1/routes/shop/named", "api/v1/routes/shop/broken",
          "api/v1/changes", "api/v1/device", "api/v1/routes/shop/none", "none")
COMMANDS = (
    ("plan",), ("plan", "-o", "json"), ("doctor",), ("doctor", "-o", "json"), ("get", "routes"),
    *(("get", "routes", "-o", form) for form in ("wide", "json", "yaml")),
    ("explain", "route", "shop/inline"), ("explain", "route", "shop/broken"),
    ("explain", "service", "shop/web"), ("explain", "host", "named.example.com"), ("explain", "node", "n1"),
    ("explain", "ingress", "shop/none"),
    ("explain", "request", "https://inline.example.com/"), ("uninstall", "--dry-run"), ("adopt", "--dry-run"),
    ("run", "--once"))


def password(name: str) -> str:
    """A password with characters that JSON, HTML and URLs write otherwise."""
    return f'{name}"<%&+/\\ {secrets.token_hex(8)}'


def key_lines(pem: str) -> list[str]:
    """Lines of a key; any of them would give away much of it. Not the first: keys of a kind share it."""
    return pem.splitlines()[2:-2]


def spellings(mark: str) -> set[str]:
    """The mark as it is, and as JSON, URLs, repr, HTML, hexadecimal and base64 have it."""
    raw = mark.encode()
    encoded = {base64.b64encode(b"x" * shift + raw).decode()[(0, 2, 3)[shift]:-4] for shift in range(3)}
    text = {mark, json.dumps(mark)[1:-1], json.dumps(json.dumps(mark))[3:-3], repr(mark)[1:-1], raw.hex(),
            urllib.parse.quote(mark), urllib.parse.quote(mark, safe=""), urllib.parse.quote_plus(mark),
            mark.replace("&", "&amp;").replace("<", "&lt;"), binascii.b2a_base64(raw).decode().strip()}
    return text | encoded


class Site:
    """A router whose secrets are marked, and all that came out of it."""

    def __init__(self, stack: ExitStack, folder: Path):
        self.told: dict[str, str] = {}
        self.lab = lab = Lab(stack, folder, ssh=True)
        lab.virtuals()
        self.marks = {name: password(name) for name in ("bigip", "wrong", "metrics", "proxy")}
        self.marks["kube"] = lab.kube.token = f"kube-{secrets.token_hex(16)}"
        lab.kube.write_kubeconfig(lab.kubeconfig)
        lab.bigip.add_user(lab.bigip.username, self.marks["bigip"])
        login = folder / "login"
        login.mkdir()
        (login / "username").write_text(lab.bigip.username)
        (login / "password").write_text(self.marks["bigip"])
        ssh = lab.ssh_flags()
        keys = {"inline": INLINE.key, "secret": NAMED.key, "pods": PODS.key,
                "ssh": Path(ssh["f5_private_key"]).read_text()}
        self.marks |= {f"{name} {number}": line for name, pem in keys.items()
                       for number, line in enumerate(key_lines(pem))}
        broken = INLINE.key.replace(key_lines(INLINE.key)[0], "!" + key_lines(INLINE.key)[0])
        self.flags = {"f5_username": None, "f5_password": None, "f5_credentials_dir": str(login),
                      "stats_user": "operator", "stats_password": self.marks["metrics"], "sources": "routes",
                      "listen_addr": "127.0.0.1:0", **ssh}
        lab.apply(
            *manifests.service("shop", "web", pods=("10.1.1.1",)), secret(NAMED),
            manifests.node("n1", "10.3.0.1"),
            manifests.route("inline", host="inline.example.com", kind="edge", certificate=INLINE.certificate,
                            key=INLINE.key),
            manifests.route("named", host="named.example.com", kind="edge",
                            externalCertificate={"name": "tls"}),
            manifests.route("broken", host="broken.example.com", kind="edge", certificate=INLINE.certificate,
                            key=broken),
            manifests.route("swapped", host="swapped.example.com", kind="edge", certificate=INLINE.key,
                            key=INLINE.certificate),
            manifests.route("authority", host="pods.example.com", kind="reencrypt",
                            destinationCACertificate=PODS.issuer + PODS.key))

    def command(self, *arguments: str, environ: dict[str, str] | None = None, **changes: str | None) -> None:
        """Run a command at debug; keep what it printed, and the traceback of what it raised."""
        flags = {**self.lab.flags(**self.flags), "log-level": "debug",
                 "default-destination-ca-path": self.lab.kube.ca_file, "f5-timeout": "5",
                 **{name.replace("_", "-"): value for name, value in changes.items()}}
        given = [f"--{name}={value}" for name, value in flags.items() if value is not None]
        result = CliRunner().invoke(main, [*arguments, *given], env=environ)
        raised = "".join(traceback.format_exception(result.exception)) if result.exception else ""
        assert not isinstance(result.exception, Exception), raised
        self.keep(f"{' '.join(arguments)} {changes} {environ}", result.output + raised)

    def keep(self, name: str, text: str) -> None:
        """Keep an output; each has something."""
        assert text, name
        self.told[f"{len(self.told)} {name[:60]}"] = text

    def run(self, stack: ExitStack, form: str) -> None:
        """Run a router with its status page, on a device that repeats what it was sent."""
        stream = io.StringIO()
        config = self.lab.config(**self.flags, retry_s=0.0)
        log_output.setup("debug", form, config.secrets, stream)
        controller = launch.build_controller(config, stack, timing=self.lab.timing)
        stop = threading.Event()
        loop = threading.Thread(target=controller.run, args=(stop,))
        with status_source.serve(config, controller, stop) as server:
            loop.start()
            try:
                until(lambda: self.lab.admitted("shop", "named").get("status"))
                self.ask(server.where)
            finally:
                stop.set()
                loop.join(DEADLINE_S)
        assert controller.reporter.events.flush(DEADLINE_S)
        for name in ("Event", "Route"):
            objects = [{**obj, "spec": None} if name == "Route" else obj for obj in self.lab.kube.list(name)]
            self.keep(name, json.dumps(objects))
        self.keep(f"log {form}", stream.getvalue())

    def ask(self, where: str) -> None:
        """Ask for every page, with the login and with a wrong one."""
        with requests.Session() as session:
            session.trust_env = False
            for login in ("metrics", "wrong"):
                session.auth = ("operator", self.marks[login])
                for path in STATUS:
                    reply = session.get(f"http://{where}/{path}", timeout=DEADLINE_S)
                    self.keep(path, f"{reply.headers} {reply.text}")
            session.auth = ("operator", self.marks["metrics"])
            with session.get(f"http://{where}/api/v1/events", timeout=DEADLINE_S, stream=True) as reply:
                self.keep("events", b"".join(reply.raw.readline() for _ in range(4)).decode())

    def echo(self, **where: str) -> None:
        """Let the device repeat secrets when it refuses."""
        words = json.dumps({"password": self.marks["bigip"], "key": INLINE.key, "more": NAMED.key})
        self.lab.bigip.inject("refuse", times=None, status=400, message=f"not understood: {words}", **where)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Everything that the router and its commands show, once; each test searches it for something else."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("site")
        marked = Site(stack, folder)
        with ExitStack() as routers:
            marked.run(routers, "json")
            live = marked.lab.bigip.tokens.live()
            marked.marks |= {f"token {number}": token.name for number, token in enumerate(live)}
        for arguments in COMMANDS:
            marked.command(*arguments)
        marked.command("run", "--once", f5_ssh_host_key="SHA256:" + "A" * 43)
        marked.lab.apply(manifests.route("late", host="late.example.com", kind="edge", key=NAMED.key,
                                       certificate=NAMED.certificate))
        for where in ({"method": "POST", "path": "sys/file"}, {"method": "POST", "path": "ltm"},
                      {"path": "authn/login"}):
            marked.echo(**where)
            marked.command("run", "--once")
        marked.lab.bigip.clear_faults()
        marks = marked.marks
        marked.command("doctor", f5_credentials_dir=None, f5_username="admin", f5_password=marks["wrong"])
        marked.command("doctor", f5_host=f"admin:{marks['bigip'].split()[1]}@{marked.lab.bigip.address}")
        proxy = urllib.parse.quote(marks["proxy"], safe="")
        for url in ("http://u:{}@127.0.0.1:99999", "http://u:{}@127.0.0.1:1", "socks5://u:{}@h:1"):
            environ = {"HTTPS_PROXY": url.format(proxy), "NO_PROXY": ""}
            marked.command("uninstall", "--dry-run", environ=environ, f5_timeout="1")
        marked.command("doctor", environ={"HTTPS_PROXY": f"http://u:{proxy}@h:99999", "NO_PROXY": ""})
        left = [path for path in Path(folder).rglob("*") if path.is_file()]
        marked.files = {path for path in left if path.name not in ("kubeconfig", "password", "router.pem")}
        yield marked


def test_the_search_finds_what_is_there():
    """In any of the forms."""
    mark = password("x")
    for text in (mark, json.dumps({"a": mark}), repr([mark]), mark.encode().hex(),
                 urllib.parse.quote_plus(mark),
                 *(base64.b64encode(f"{'x' * shift}{mark}z".encode()).decode() for shift in range(5))):
        assert any(form in text for form in spellings(mark)), text


def test_nothing_secret_leaves(site):
    """No password, token or line of a key is in a log, page, plan, Event, status or traceback."""
    assert len(site.told) > 2 * len(STATUS) + len(COMMANDS)
    assert any(name.startswith("token") for name in site.marks)
    forms = [(name, form) for name, mark in site.marks.items() for form in spellings(mark)]
    leaks = {(output, name, text[max(0, text.index(form) - 100):text.index(form)])
             for output, text in site.told.items() for name, form in forms if form in text}
    assert leaks == set()


def test_everything_was_there(site):
    """The outputs are those of a router that did its work, and was refused."""
    told = "\n".join(site.told.values())
    for words in ("Route shop/inline", "Route shop/named", "not understood", "Route shop/late", "host key",
                  "is refused", "HTTPS_PROXY", "BIG-IP write"):
        assert words in told, words
    assert site.lab.admitted("shop", "inline")["status"] == "True"


def test_no_file_shows_a_secret(site):
    """Login and keys are in the files that were given, and in no other."""
    texts = [path.read_text(errors="replace") for path in site.files]
    forms = [form for mark in site.marks.values() for form in spellings(mark)]
    assert not [form for form in forms for text in texts if form in text]
