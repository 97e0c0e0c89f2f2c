"""The command line: flags to Config, exit status, signals, help.

Longer than other modules: each way in which a command can be given, with the same variables.
"""

import json
import logging
import os
import re
import resource
import signal
import subprocess
import sys
from operator import attrgetter

import pytest
from click.testing import CliRunner

from f5router import __version__
from f5router.cli.main import main
from f5router.cli.settings_command import ESSENTIAL
from f5router.config.ignored_variables import FLAGS
from f5router.config.option import GROUPS
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError
from tests.builders import identity
from tests.signals import signal_in_wait
from tests.waiting import DEADLINE_S

HOST = "ROUTER_EXTERNAL_HOST_"
PASSWORD = "s3cr3t-word"
ENV = {HOST + "HOSTNAME": "bigip.example.com", HOST + "USERNAME": "admin", HOST + "PASSWORD": PASSWORD}
COMMANDS = pytest.mark.parametrize("command", ["run", "plan", "adopt", "uninstall"])

MISSING = "is missing; it may also come from --f5-credentials-dir"


class Controller:
    """Stands in for f5router.app.launch; keeps what it was called with."""

    def __init__(self, status=0, act=lambda stop: None, *, asks=False):
        self.status, self.act, self.asks = status, act, asks
        self.config = self.once = self.stop = self.output = self.detailed = self.dry_run = None

    def run(self, config, *, once, stop):
        self.config, self.once, self.stop = config, once, stop
        self.act(stop)
        return self.status

    def plan(self, config, *, output, detailed):
        self.config, self.output, self.detailed = config, output, detailed
        self.act(None)
        print("the plan")
        return self.status

    def adopt(self, config, *, dry_run, stop, virtual_servers):
        self.config, self.dry_run, self.stop = config, dry_run, stop
        self.virtual_servers = virtual_servers
        self.act(stop)
        return self.status

    def release(self, config, *, dry_run):
        self.config, self.dry_run, self.released = config, dry_run, True
        return self.status

    def uninstall(self, config, *, dry_run, confirm, stopping):
        self.config, self.dry_run = config, dry_run
        self.confirmed = self.asks and confirm("Remove it?")
        with stopping() as stop:
            self.stop = stop
            self.act(stop)
        return self.status


@pytest.fixture
def f5router(tmp_path):
    """Runs a command line with a good environment, changed by env, and no other variables of ours."""
    service_ca = tmp_path / "service-ca.crt"
    service_ca.write_text(identity().issuer)
    ours = dict.fromkeys(option.env for option in OPTIONS.values() if option.env)

    def invoke(*args, controller=None, env=()):
        environ = {**ours, **ENV, "DEFAULT_DESTINATION_CA_PATH": str(service_ca), **dict(env)}
        return CliRunner().invoke(main, args, obj=controller or Controller(), env=environ)

    return invoke


def process(*args, env=ENV):
    """f5router in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "f5router", *args], capture_output=True, text=True, check=False,
        timeout=DEADLINE_S, env={"PATH": os.environ["PATH"], **env},
    )


@pytest.mark.parametrize(("args", "dry_run"), [([], False), (["--dry-run"], True)], ids=["adopt", "dry run"])
@pytest.mark.parametrize("status", [0, 1])
def test_adopt(f5router, args, dry_run, status):
    controller = Controller(status)
    result = f5router("adopt", "--f5-host=a:8443", *args, controller=controller)
    assert result.exit_code == status, result.output
    assert controller.config.bigip.host == "a:8443"
    assert controller.dry_run is dry_run
    assert not controller.stop.is_set()


@pytest.mark.parametrize(("args", "done"), [
    ([], {"virtual_servers": False}), (["--virtual-servers"], {"virtual_servers": True}),
    (["--release"], {"released": True, "dry_run": False}),
    (["--release", "--dry-run"], {"released": True, "dry_run": True}),
])
def test_virtual_servers_change_hands(f5router, args, done):
    controller = Controller()
    result = f5router("adopt", "--f5-host=a:8443", *args, controller=controller)
    assert result.exit_code == 0, result.output
    assert vars(controller).items() >= done.items()
    assert hasattr(controller, "released") == ("--release" in args)


def test_there_or_back(f5router):
    result = f5router("adopt", "--virtual-servers", "--release", controller=Controller())
    assert result.exit_code == 2
    assert "exclude each other" in result.output


@pytest.mark.parametrize(("args", "dry_run", "confirmed"), [
    ([], False, False), (["--dry-run"], True, False), (["--yes"], False, True)],
    ids=["nobody to ask", "dry run", "yes"])
def test_uninstall(f5router, args, dry_run, confirmed):
    """Without a terminal nothing goes but with --yes."""
    controller = Controller(asks=True)
    result = f5router("uninstall", "--f5-host=a:8443", *args, controller=controller)
    assert result.exit_code == 0, result.output
    assert (controller.dry_run, controller.confirmed) == (dry_run, confirmed)
    assert ("No terminal to ask for confirmation" in result.output) is not confirmed


@pytest.mark.parametrize(("args", "once"), [([], False), (["--once"], True)], ids=["run", "once"])
def test_run(f5router, args, once):
    """The controller gets the settings, whether to run once, and an event that is not set."""
    controller = Controller()
    result = f5router("run", "--f5-host=a:8443", *args, controller=controller)
    assert result.exit_code == 0, result.output
    assert controller.config.bigip.host == "a:8443"
    assert controller.once is once
    assert not controller.stop.is_set()


@pytest.mark.parametrize(("args", "output", "detailed"), [
    ([], "table", False), (["--output", "json"], "json", False), (["--output=table"], "table", False),
    (["--detailed-exitcode"], "table", True),
])
def test_plan(f5router, args, output, detailed):
    """The controller gets the settings and the form; the log does not get between the plan's lines."""
    controller = Controller()
    result = f5router("plan", *args, controller=controller, env={"ROUTER_LOG_LEVEL": "debug"})
    assert result.exit_code == 0, result.output
    assert (controller.output, controller.detailed) == (output, detailed)
    assert result.stdout == "the plan\n"


def test_plan_bad_output(f5router):
    """Another form is wrong usage."""
    assert f5router("plan", "--output=yaml").exit_code == 2
    assert f5router("plan", "--output=yaml", "--detailed-exitcode").exit_code == 1


@COMMANDS
@pytest.mark.parametrize("status", [0, 1, 3])
def test_exit_status(f5router, command, status):
    """Is the controller's."""
    assert f5router(command, controller=Controller(status)).exit_code == status


@COMMANDS
def test_every_flag_arrives(f5router, command):
    """Every command takes every option of the table: with a bad value, each one is heard of."""
    def given(*names: str) -> str:
        result = f5router(command, *(f"--{name}=\n-----BEGIN" for name in names))
        assert result.exit_code in (0, 2), result.output
        assert "No such option" not in result.stderr
        return result.stderr

    anything = {"context", "name"}
    given(*anything)
    together = given(*(name for name in OPTIONS if name not in anything))
    told = {label for line in together.splitlines() for label in line.split(": ")[0].split(", ")}
    # A file is not looked at beside its value.
    alone = [name for name, option in OPTIONS.items() if name not in anything and option.label not in told]
    assert len(alone) < len(OPTIONS) / 10
    assert [name for name in alone if OPTIONS[name].label not in given(name)] == []


@COMMANDS
def test_flags_without_effect(f5router, command):
    """Accepted with a value, also in an argument of its own, and without; help has none of them."""
    for args in ([f"--{name}" for name in FLAGS], [f"--{name}=true" for name in FLAGS],
                 [text for name in FLAGS for text in (f"--{name}", "true")]):
        result = f5router(command, *args)
        assert result.exit_code == 0, args
        assert [name for name in FLAGS if f"--{name}: has no effect" not in result.stderr] == [], args
    shown = f5router(command, "--help-all").output
    assert [name for name in FLAGS if f"--{name}" in shown] == []


@pytest.mark.parametrize(("args", "field", "value"), [
    (["--watch-endpoints"], "watch.use_endpoints", True),
    (["--watch-endpoints=true"], "watch.use_endpoints", True),
    (["--watch-endpoints=false"], "watch.use_endpoints", False),
    (["--watch-endpoints=F"], "watch.use_endpoints", False),
    (["--watch-endpoints", "--name=x"], "watch.use_endpoints", True),
    (["--name=x", "--watch-endpoints"], "watch.use_endpoints", True),
    (["--update-status=false"], "status.enabled", False),
    (["--namespace", "ns"], "watch.selection.namespace", "ns"),
    (["--namespace=ns"], "watch.selection.namespace", "ns"),
    (["-n", "ns"], "watch.selection.namespace", "ns"),
    (["-nns"], "watch.selection.namespace", "ns"),
    (["-n=ns"], "watch.selection.namespace", "ns"),
    (["--f5-http-vserver="], "http_virtual", None),
    (["--f5-http-vserver", ""], "http_virtual", None),
    (["--name=a", "--name=b"], "status.router_name", "b"),
    (["--f5-host=a", "--f5-host", "b:8443"], "bigip_names", "a, b:8443"),
    (["--f5-host=a,b", "--f5-host=c"], "bigip_names", "a, b, c"),
    ([], "bigip_names", "bigip.example.com"),
], ids=lambda args: " ".join(args) if isinstance(args, list) else "")
def test_forms_of_flags(f5router, args, field, value):
    """The forms that Go's flags have, also for booleans."""
    controller = Controller()
    result = f5router("run", *args, controller=controller, env={"ROUTER_WATCH_ENDPOINTS": "true"})
    assert result.exit_code == 0, result.output
    assert attrgetter(field)(controller.config) == value


def test_flag_of_no_value_before_word(f5router):
    """A boolean's value needs "=" or follows directly; a word too many is wrong usage."""
    controller = Controller()
    assert f5router("run", "--f5-insecure", "false", controller=controller).exit_code == 0
    assert controller.config.bigip.verify is True
    assert f5router("run", "word").exit_code == 2


@COMMANDS
def test_problems(f5router, command):
    """Each on a line of its own on stderr, status 2, and the controller is not called."""
    controller = Controller()
    result = f5router(command, "--f5-host=", "--f5-timeout=x", "--labels=a=b,", controller=controller)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME: the BIG-IP's management address {MISSING}",
        "--f5-timeout / ROUTER_F5_TIMEOUT: 'x' is not a number of seconds",
        "--labels / ROUTE_LABELS: there is nothing before or after a comma",
    ]
    assert result.stdout == ""
    assert controller.config is None


@COMMANDS
def test_problems_found_later(f5router, command):
    """The controller can find some too, such as a kubeconfig without a server."""
    def act(_):
        raise ConfigError(["kubeconfig: no server", "second"])

    result = f5router(command, controller=Controller(act=act))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2:] == ["kubeconfig: no server", "second"]


@COMMANDS
def test_warnings_are_logged(f5router, command):
    """Warnings of Config appear in the format of --log-format."""
    result = f5router(command, "--f5-insecure", "--log-format=json")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert [line["message"] for line in lines if line["level"] == "warning"] == [
        "--f5-insecure / ROUTER_EXTERNAL_HOST_INSECURE: the BIG-IP's certificate is not verified"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_settings_are_logged(f5router, form):
    """At start, without the password; and nothing that is logged later shows it."""
    def act(_):
        logging.getLogger("f5router.x").info("later %s", PASSWORD)

    result = f5router("run", f"--log-format={form}", controller=Controller(act=act))
    assert "bigip.example.com" in result.stderr
    assert "later ***" in result.stderr
    assert PASSWORD not in result.output


def test_log_level(f5router):
    """Warnings only: no settings."""
    assert f5router("run", "--log-level=warning").stderr == ""


def test_open_files(f5router):
    """As many as allowed; 1,024 is a common limit at start."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 1024), before[1]))
    try:
        f5router("run", controller=Controller(
            act=lambda _: seen.append(resource.getrlimit(resource.RLIMIT_NOFILE))))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert seen == [(before[1], before[1])]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal(f5router, number):
    """Sets the event; afterwards the handlers are what they were."""
    def act(stop):
        os.kill(os.getpid(), number)
        assert stop.wait(DEADLINE_S)

    before = signal.getsignal(number)
    result = f5router("run", controller=Controller(4, act))
    assert result.exit_code == 4, result.output
    assert signal.getsignal(number) == before


def test_signal_while_waiting(f5router):
    """A thread that holds the event's lock when the signal comes does not wait for itself."""
    def act(stop):
        assert signal_in_wait(stop, signal.SIGTERM, timeout_s=DEADLINE_S)

    assert f5router("run", controller=Controller(act=act)).exit_code == 0


def test_no_handlers_left_after_failure(f5router):
    """An exception of the controller is not swallowed, and the handlers go all the same."""
    def act(_):
        raise RuntimeError("bug")

    before = signal.getsignal(signal.SIGTERM)
    result = f5router("run", controller=Controller(act=act))
    assert isinstance(result.exception, RuntimeError)
    assert signal.getsignal(signal.SIGTERM) == before


# ---- Help and version


@COMMANDS
def test_help(f5router, command):
    """Every option with its variable and default, in its group."""
    result = f5router(command, "--help-all")
    assert result.exit_code == 0
    flat = " ".join(result.output.split())
    dense = flat.replace(" ", "")  # a line may end with the dash of a word
    for option in OPTIONS.values():
        assert re.search(rf"--{option.name}[ \[]", flat), option.name
        assert "".join(option.help.split()) in dense, option.name
        notes = "; ".join(filter(None, [option.env, option.default and f"default: {option.default}"]))
        assert not notes or f"[{notes}]" in flat, option.name
    first_lines = [line for line in result.output.splitlines() if line.startswith("  -")]
    own = {"--once", "--output", "--detailed-exitcode", "--dry-run", "--virtual-servers", "--release",
           "--yes", "--help ", "--help-all "}
    assert len(first_lines) == len(OPTIONS) + sum(name in result.output for name in own)
    starts = [result.output.index(f"\n{group}:\n") for group in GROUPS]
    assert starts == sorted(starts)
    assert "-n, --namespace NAME" in result.output
    assert "--f5-insecure[=true|false]" in result.output
    assert ("--once" in result.output) is (command == "run")
    assert ("--output" in result.output) is ("--detailed-exitcode" in result.output) is (command == "plan")


@COMMANDS
def test_short_help(f5router, command):
    """A screen of it: the settings that nobody does without, and how to get the others."""
    lines = f5router(command, "--help").output.splitlines()
    assert len(lines) < 60
    text = "\n".join(lines)
    assert "--f5-credentials-dir DIRECTORY" in text
    assert "--f5-node-addresses" not in text
    assert f"{len(OPTIONS) - len(ESSENTIAL)} more settings: --help-all" in text


def test_help_with_all_settings(f5router):
    """Commands and settings together, for those who do not know yet which command takes them."""
    text = f5router("--help-all").output
    assert text.index("Commands:\n") < text.index(f"\n{GROUPS[0]}:\n")
    assert all(f"--{option.name}" in text for option in OPTIONS.values())
    assert "--f5-host" not in f5router("--help").output


@pytest.mark.parametrize("group", ["explain", "get", "status"])
def test_help_of_groups(f5router, group):
    """Each command in a whole sentence."""
    commands = f5router(group, "--help").output.partition("Commands:\n")[2].splitlines()
    assert commands
    assert [text for text in commands if not text.endswith(".") or text.endswith("...")] == []


def test_arguments_are_no_options(f5router):
    """They are in the line of usage."""
    assert f5router("explain", "route", "--help").output.count("[NAMESPACE/]NAME") == 1


def test_help_needs_no_settings(f5router):
    """Help of the group: the commands, in whole sentences."""
    result = f5router("--help", env=dict.fromkeys(ENV))
    assert result.exit_code == 0
    commands = result.output.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in commands] == [
        "adopt", "completion", "doctor", "explain", "get", "plan", "run", "status", "uninstall", "version"]
    for text in commands:
        assert text.endswith(".")
        assert not text.endswith("...")


def test_version(f5router):
    """The router, Python, the libraries."""
    result = f5router("version", env=dict.fromkeys(ENV))
    lines = dict(line.split(" ", 1) for line in result.output.splitlines())
    assert lines["f5router"] == __version__
    assert lines["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"requests", "urllib3", "paramiko", "kubernetes", "cryptography"} <= lines.keys()


def test_version_option(f5router):
    """So does the usual flag, in short."""
    assert f5router("--version").output == f"f5router, version {__version__}\n"


def test_module():
    """python -m f5router is the same program."""
    assert process("--version", env={}).stdout == f"f5router, version {__version__}\n"
    assert "Usage: f5router run" in process("run", "--help", env={}).stdout


def test_help_width():
    """Lines of at most 100 characters on a wide terminal, and more than 80 (CliRunner's own limit)."""
    longest = max(map(len, process("run", "--help-all", env={"COLUMNS": "300"}).stdout.splitlines()))
    assert 80 < longest <= 100


def test_module_problems():
    """Without any settings: what is missing, nothing else, status 2."""
    result = process("run", env={})
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        f"--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME: the BIG-IP's management address {MISSING}",
        f"--f5-username / ROUTER_EXTERNAL_HOST_USERNAME: the user name {MISSING}",
        f"--f5-password / ROUTER_EXTERNAL_HOST_PASSWORD: the password {MISSING}",
    ]


def test_controller_is_imported_late():
    """Help and version do not load the controller and what it needs."""
    code = ("import sys, f5router.cli.main; "
            "sys.exit('f5router.app.launch' in sys.modules or 'kubernetes' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE_S, check=False).returncode == 0


@pytest.mark.parametrize("name", ["f5router.cli.explain", "f5router.cli.nothing"])
def test_garbage_is_collected_once_a_command_is_loaded(name):
    """Also where that fails; the modules themselves are no garbage."""
    code = ("import contextlib, gc, sys; from f5router.cli import invocation\n"
            f"with contextlib.suppress(ImportError): invocation.loaded({name!r})\n"
            "sys.exit(not gc.isenabled() or gc.get_freeze_count() < 10_000\n"
            "         or gc.get_threshold()[0] < 10_000)")
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE_S, check=False).returncode == 0


def test_ssh_and_the_bar_are_imported_late():
    """A router that uploads by REST, in a pod, loads neither."""
    code = ("import sys, f5router.app.launch, f5router.cli.adopt; "
            "sys.exit('paramiko' in sys.modules or 'rich.progress' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE_S, check=False).returncode == 0
