"""Command line: f5router run, plan, doctor, adopt, uninstall, status clear, explain, completion and version.

The flags of the commands are those of options.OPTIONS; status clear has some of them.
Exit status: the command's; 2 for wrong usage and invalid settings, 1 with plan --detailed-exitcode.
"""

import contextlib
import functools
import gc
import importlib
import logging
import os
import platform
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import metadata
from types import ModuleType

import click

from f5router import __version__
from f5router.cli import settings_command
from f5router.cli.settings_command import KindGroup, SettingsCommand, SettingsGroup
from f5router.config.config import Config, load
from f5router.config.options import OPTIONS
from f5router.logs import log_output
from f5router.model.errors import ConfigError
from f5router.model.selection import Selection
from f5router.model.texts import printable
from f5router.plan.changes import FAILED

log = logging.getLogger("f5router")

LIBRARIES = ("requests", "urllib3", "paramiko", "kubernetes", "cryptography", "click")
BAD_SETTINGS = 2
"""Exit status, click's own for wrong usage."""

_DETAILED = "--detailed-exitcode"

_CLEAR_SETTINGS = ("config", "context", "master", "status-rate", "router-canonical-hostname", "ingress-class",
                   "ingress-controller", "ingressroute-class", "log-level", "log-format")
"""Settings of `status clear`."""

_GET_SETTINGS = tuple(name for name in OPTIONS if name != "namespace")
"""Settings of `get`, whose own --namespace limits what is listed, not what is read."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_EPILOG = (
    "Precedence: flag, then environment variable, then default. An empty variable counts as unset. "
    "Durations are written like 5m, 1m30s or 100ms."
)


@click.group(cls=SettingsGroup, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="f5router")
def main() -> None:
    """Programs an F5 BIG-IP from OpenShift Routes.

    First, `f5router doctor` checks the settings, the cluster and the BIG-IP, and `f5router plan` shows what
    would change. `f5router run` is the router itself.

    `f5router COMMAND --help` shows the most common settings, `f5router COMMAND --help-all` shows all.
    """


@main.command(cls=SettingsCommand, epilog=_EPILOG, short_help="Keep the BIG-IP in sync with the Routes.")
@click.option("--once", is_flag=True, help="Make one pass and end.")
@click.pass_context
def run(ctx: click.Context, /, once: bool, **flags: str | None) -> None:
    """Keep the BIG-IP in sync with the Routes until SIGTERM or SIGINT.

    Exit status: 0 at the end, or with --once if everything is in place; 1 otherwise; 2 for invalid settings.
    """
    with _reported():
        config = _configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        _allow_connections()
        with _stopping() as stop:
            module = ctx.obj or _loaded("f5router.app.launch")
            status = module.run(config, once=once, stop=stop)
    sys.exit(status)


class _PlanCommand(SettingsCommand):
    """Command that keeps exit status 2 for changes with --detailed-exitcode."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        detailed = _DETAILED in args
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as exc:
            exc.exit_code = FAILED if detailed else BAD_SETTINGS  # type: ignore[misc]  # click reads it of the instance
            raise


@main.command(cls=_PlanCommand, epilog=_EPILOG, short_help="Show what one pass would change.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="Output format.")
@click.option(_DETAILED, "detailed", is_flag=True,
              help="Exit with 2 if there are changes and no problem, with 0 only if there is nothing to do.")
@click.pass_context
def plan(ctx: click.Context, /, output: str, detailed: bool, **flags: str | None) -> None:
    """Show what one pass would change, and its problems. Change nothing.

    Exit status: 0 without a problem; 1 with a problem or an error; 2 for invalid settings, 1 with
    --detailed-exitcode. Rejected Routes are no problem.
    """
    with _reported(FAILED if detailed else BAD_SETTINGS):
        config = _configured(flags, steps=not sys.stderr.isatty())  # a terminal has a bar
        module = ctx.obj or _loaded("f5router.cli.preflight")
        status = module.plan(config, output=output, detailed=detailed)
    sys.exit(status)


@main.command(cls=SettingsCommand, epilog=_EPILOG, short_help="Check everything that `run` needs.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="Output format.")
def doctor(output: str, **flags: str | None) -> None:
    """Check everything that `run` needs: settings, cluster, BIG-IP and the network. Change nothing.

    Each check is ok, a warning or a failure. A warning or failure says how to fix it, and does not stop the
    other checks. Exit status: 0 without a failure; 1 with a failure; 2 for invalid settings.
    """
    module = _loaded("f5router.cli.doctor.command")
    sys.exit(module.doctor(_named(flags), os.environ, output=output))


@main.command(cls=SettingsCommand, epilog=_EPILOG, short_help="Take over from the original F5 router.")
@click.option("--dry-run", is_flag=True, help="Print what would happen to each object. Change nothing.")
@click.pass_context
def adopt(ctx: click.Context, /, dry_run: bool, **flags: str | None) -> None:
    """Take over from the original F5 router, and remove the objects that it left.

    Exit status: 0 if none of its objects is left; 1 otherwise; 2 for invalid settings.
    """
    with _reported():
        config = _configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        module = ctx.obj or _loaded("f5router.cli.adopt")
        with _stopping() as stop:
            exit_status = module.adopt(config, dry_run=dry_run, stop=stop)
    sys.exit(exit_status)


@main.command(cls=SettingsCommand, epilog=_EPILOG, short_help="Remove everything that the router wrote.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed. Change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_context
def uninstall(ctx: click.Context, /, dry_run: bool, yes: bool, **flags: str | None) -> None:
    """Remove everything that the router wrote to the BIG-IP and into statuses.

    Stop the router first. Exit status: 0 if nothing is left; 1 otherwise; 2 for invalid settings.
    """
    with _reported():
        config = _configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        module = ctx.obj or _loaded("f5router.cli.uninstall")
        exit_status = module.uninstall(config, dry_run=dry_run, confirm=lambda text: yes or _confirmed(text),
                                       stopping=_stopping)
    sys.exit(exit_status)


def _confirmed(question: str) -> bool:
    """True if the user confirms; False without a terminal."""
    if not sys.stdin.isatty():
        click.echo("No terminal to ask for confirmation: use --yes or --dry-run.", err=True)
        return False
    return click.confirm(question)


@main.group(short_help="Work on the statuses of Routes and other objects.")
def status() -> None:
    """Work on the statuses of Routes, Ingresses and IngressRoutes."""


@status.command(cls=SettingsCommand, settings=_CLEAR_SETTINGS,
                short_help="Remove what a router wrote into statuses.")
@click.option("--router-name", envvar="ROUTER_SERVICE_NAME", default="", metavar="NAME",
              help="Name of the router whose entries to remove, its --name.  [ROUTER_SERVICE_NAME]")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only objects of this namespace.")
@click.option("--sources", default="routes", metavar="KIND,...", show_default=True,
              help="Kinds of objects: routes, ingress, ingressroutes. Statuses of Ingresses and "
                   "IngressRoutes name no router: those of a router with these settings are removed.")
@click.option("--labels", default="", metavar="SELECTOR", help="Only objects that match this label selector.")
@click.option("--fields", default="", metavar="SELECTOR", help="Only Routes that match this field selector.")
@click.option("--dry-run", is_flag=True, help="Print the objects. Change nothing.")
def clear(router_name: str, namespace: str, sources: str, labels: str, fields: str, dry_run: bool,
          **flags: str | None) -> None:
    """Remove what a router wrote into statuses. A running router writes it again.

    Exit status: 0 if nothing is left; 1 otherwise; 2 for invalid settings.
    """
    with _reported():
        statusclear = _loaded("f5router.cli.clear_status")
        scope = Selection(namespace or None, labels, fields)
        settings = statusclear.load(router_name, scope, _named(flags), os.environ, sources)
        log_output.setup(settings.log_level, settings.log_format)
        exit_status = statusclear.run_all(settings, dry_run=dry_run)
    sys.exit(exit_status)


@main.group(cls=KindGroup, short_help="List what the router serves.")
def get() -> None:
    """List what the router serves, from the cluster and the BIG-IP. Change nothing."""


@get.command(cls=SettingsCommand, epilog=_EPILOG, settings=_GET_SETTINGS,
             short_help="List Routes and their status.")
@click.option("-o", "--output", type=click.Choice(["table", "wide", "name", "json", "yaml"]),
              default="table", show_default=True, help="Output format.")
@click.option("-n", "--namespace", "shown", default="", metavar="NAME", help="Only Routes of this namespace.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Routes of all namespaces.")
@click.argument("given", nargs=-1, metavar="[[NAMESPACE/]NAME]...")
def routes(output: str, shown: str, everywhere: bool, given: tuple[str, ...], **flags: str | None) -> None:
    """List Routes with their status, including the Routes of Ingresses and IngressRoutes.

    Exit status: 0 with a list; 1 if there is none of a name, or cluster or BIG-IP cannot be read; 2 for
    invalid settings.
    """
    with _reported():
        status = _loaded("f5router.cli.look").get_routes(
            _quiet(flags), namespace="" if everywhere else shown, given=given, output=output)
    sys.exit(status)


@main.group(cls=KindGroup, short_help="Show how an object is served or why not.")
def explain() -> None:
    """Show how an object of the cluster or a request is served, or why not. Change nothing.

    Exit status: 0 if nothing is broken; 1 if something is broken or cannot be read; 2 for invalid settings.
    """


@explain.command(cls=SettingsCommand, epilog=_EPILOG,
                 short_help="Show a Route down to its pods and its first broken link.")
@click.option("-o", "--output", type=click.Choice(["text", "dot"]), default="text", show_default=True,
              help="Output format; dot is a graph for Graphviz.")
@click.argument("given", metavar="NAMESPACE/NAME")
def route(given: str, output: str, **flags: str | None) -> None:
    """Show a Route from admission to its pods, and the first broken link."""
    with _reported():
        status = _loaded("f5router.cli.explain_objects").explain_route(_quiet(flags), given, output=output)
    sys.exit(status)


def _explained(kind: str, metavar: str, text: str) -> None:
    """Add a command to `explain`."""
    def command(given: str, **flags: str | None) -> None:
        with _reported():
            status = getattr(_loaded("f5router.cli.explain_objects"), f"explain_{kind}")(_quiet(flags), given)
        sys.exit(status)

    command.__doc__ = text
    explain.command(kind, cls=SettingsCommand, epilog=_EPILOG)(
        click.argument("given", metavar=metavar)(command))


_explained("ingress", "NAMESPACE/NAME", "Show each Route of an Ingress and its first broken link.")
_explained("service", "NAMESPACE/NAME", "Show each Route of a Service and its first broken link.")
_explained("host", "HOST", "Show each Route of a host and its first broken link.")
_explained("node", "NAME", "Show the way to a Node's pods and their Routes.")
_explained("request", "URL", "Show who answers a request by the objects on the BIG-IP.")


@explain.command(cls=SettingsCommand, epilog=_EPILOG,
                 short_help="Show an IngressRoute from its roots to its pods.")
@click.argument("given", metavar="NAMESPACE/NAME")
def ingressroute(given: str, **flags: str | None) -> None:
    """Show an IngressRoute from its roots to its Services, and where and why a branch is cut.

    If the settings name a BIG-IP, each Route follows down to its pods, with its first broken link.
    """
    with _reported():
        command = _loaded("f5router.cli.explain")
        settings, follow = command.load(given, _named(flags), os.environ), None
        if _names_bigip(flags):
            config, objects = _quiet(flags), _loaded("f5router.cli.explain_objects")
            follow = functools.partial(objects.explain_ingress_route, config, settings.key)
        else:
            log_output.setup(settings.log_level, settings.log_format)
        exit_status = command.ingress_route(settings, follow)
    sys.exit(exit_status)


def _names_bigip(flags: Mapping[str, str | tuple[str, ...] | None]) -> bool:
    """True if the settings name a BIG-IP or the directory with its login."""
    given, names = _named(flags), ("f5-host", "f5-credentials-dir")
    return any(given.get(name) or os.environ.get(OPTIONS[name].env) for name in names)


@main.command("completion", short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(settings_command.SHELLS))
def complete(shell: str) -> None:
    """Print a script with which a shell completes commands, flags and values.

    In bash: source <(f5router completion bash)

    In zsh: source <(f5router completion zsh)

    In fish: f5router completion fish | source
    """
    click.echo(settings_command.completion_script(main, shell))


@main.command(short_help="Show the versions of the router and its libraries.")
def version() -> None:
    """Show the versions of the router, Python and the libraries."""
    click.echo(f"f5router {__version__}")
    click.echo(f"Python {platform.python_version()}")
    for name in LIBRARIES:
        try:
            click.echo(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            click.echo(f"{name} not installed")


def _loaded(name: str) -> ModuleType:
    """Return the module of a command, imported only now.

    All that is loaded stays, so the garbage collector is spared it, now and as long as the process runs: the
    start takes a quarter less. Most later objects stay, too, see `collector`.
    """
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        settings_command.relieve_collector()
        gc.enable()


def _configured(flags: dict[str, str | None], *, steps: bool = True) -> Config:
    """Return Config after setting up logging, and log its warnings. Raises: ConfigError.

    Args: steps: False to log no list of the cluster, unless the user has chosen a level.
    """
    config, given = load(_named(flags), os.environ), _named(flags).get("log-level")
    log_output.setup(config.log_level, config.log_format, config.secrets,
                     steps=steps or bool(given or os.environ.get(OPTIONS["log-level"].env)))
    for warning in config.warnings:
        log.warning(warning)
    return config


def _quiet(flags: dict[str, str | None]) -> Config:
    """Return Config for a command that logs nothing, except at debug level. Raises: ConfigError."""
    config = load(_named(flags), os.environ)
    log_output.setup(config.log_level if config.log_level == "debug" else "critical", config.log_format,
                     config.secrets)
    return config


def _named(flags: Mapping[str, str | tuple[str, ...] | None]) -> dict[str, str | None]:
    """Return flags by the names of options.OPTIONS; a flag that may be repeated is a tuple."""
    def text(given: str | tuple[str, ...] | None) -> str | None:
        return (",".join(given) if given else None) if isinstance(given, tuple) else given

    return {name.replace("_", "-"): text(given) for name, given in flags.items()}


@contextlib.contextmanager
def _reported(exit_status: int = BAD_SETTINGS) -> Iterator[None]:
    """Print each problem of a ConfigError on a line, and exit."""
    try:
        yield
    except ConfigError as exc:
        for problem in exc.problems:
            click.echo(printable(problem), err=True)
        sys.exit(exit_status)


def _allow_connections() -> None:
    """Raise the limit of open files as far as allowed, as programs in Go do by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextlib.contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set."""
    stop = threading.Event()

    def handle(*_: object) -> None:
        # Not here: the thread that is interrupted may hold the event's lock.
        threading.Thread(target=stop.set, daemon=True, name="signal").start()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

