"""Command line: f5router run, plan, doctor, adopt, uninstall, status clear, explain, completion and version.

The flags of the commands are those of options.OPTIONS; status clear has some of them.
Exit status: the command's; 2 for wrong usage and invalid settings, 1 with plan --detailed-exitcode.
"""

import logging
import os
import platform
import resource
import sys
from importlib import metadata

import click

from f5router import __version__
from f5router.cli import invocation, queries, settings_command
from f5router.cli.invocation import BAD_SETTINGS, EPILOG
from f5router.cli.settings_command import SettingsCommand, SettingsGroup
from f5router.logs import log_output
from f5router.model.selection import Selection
from f5router.plan.changes import FAILED

log = logging.getLogger("f5router")

LIBRARIES = ("requests", "urllib3", "paramiko", "kubernetes", "cryptography", "click")

_DETAILED = "--detailed-exitcode"

_CLEAR_SETTINGS = ("config", "context", "master", "status-rate", "router-canonical-hostname", "ingress-class",
                   "ingress-controller", "ingressroute-class", "gateway-controller", "log-level",
                   "log-format")
"""Settings of `status clear`."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

@click.group(cls=SettingsGroup, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="f5router")
def main() -> None:
    """Programs an F5 BIG-IP from OpenShift Routes.

    First, `f5router doctor` checks the settings, the cluster and the BIG-IP, and `f5router plan` shows what
    would change. `f5router run` is the router itself.

    `f5router COMMAND --help` shows the most common settings, `f5router COMMAND --help-all` shows all.
    """


@main.command(cls=SettingsCommand, epilog=EPILOG, short_help="Keep the BIG-IP in sync with the Routes.")
@click.option("--once", is_flag=True, help="Make one pass and end.")
@click.pass_context
def run(ctx: click.Context, /, once: bool, **flags: str | None) -> None:
    """Keep the BIG-IP in sync with the Routes until SIGTERM or SIGINT.

    Exit status: 0 at the end, or with --once if everything is in place; 1 otherwise; 2 for invalid settings.
    """
    with invocation.reported():
        config = invocation.configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        _allow_connections()
        with invocation.stopping() as stop:
            module = ctx.obj or invocation.loaded("f5router.app.launch")
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


@main.command(cls=_PlanCommand, epilog=EPILOG, short_help="Show what one pass would change.")
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
    with invocation.reported(FAILED if detailed else BAD_SETTINGS):
        config = invocation.configured(flags, steps=not sys.stderr.isatty())  # a terminal has a bar
        module = ctx.obj or invocation.loaded("f5router.cli.preflight")
        status = module.plan(config, output=output, detailed=detailed)
    sys.exit(status)


@main.command(cls=SettingsCommand, epilog=EPILOG, short_help="Check everything that `run` needs.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="Output format.")
def doctor(output: str, **flags: str | None) -> None:
    """Check everything that `run` needs: settings, cluster, BIG-IP and the network. Change nothing.

    Each check is ok, a warning or a failure. A warning or failure says how to fix it, and does not stop the
    other checks. Exit status: 0 without a failure; 1 with a failure; 2 for invalid settings.
    """
    module = invocation.loaded("f5router.cli.doctor.command")
    sys.exit(module.doctor(invocation.named(flags), os.environ, output=output))


@main.command(cls=SettingsCommand, epilog=EPILOG, short_help="Take over from the original F5 router.")
@click.option("--dry-run", is_flag=True, help="Print what would happen to each object. Change nothing.")
@click.option("--virtual-servers", is_flag=True,
              help="Take over virtual servers made by hand, too; with --f5-vserver-address.")
@click.option("--release", is_flag=True, help="Give virtual servers back, and nothing else.")
@click.pass_context
def adopt(ctx: click.Context, /, dry_run: bool, virtual_servers: bool, release: bool,
          **flags: str | None) -> None:
    """Take over from the original F5 router, and remove the objects that it left.

    Exit status: 0 if all of it is done; 1 otherwise; 2 for invalid settings.
    """
    if release and virtual_servers:
        raise click.UsageError("--release and --virtual-servers exclude each other")
    with invocation.reported():
        config = invocation.configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        if release:
            given = ctx.obj or invocation.loaded("f5router.cli.adopted_servers")
            sys.exit(given.release(config, dry_run=dry_run))
        module = ctx.obj or invocation.loaded("f5router.cli.adopt")
        with invocation.stopping() as stop:
            exit_status = module.adopt(config, dry_run=dry_run, stop=stop, virtual_servers=virtual_servers)
    sys.exit(exit_status)


@main.command(cls=SettingsCommand, epilog=EPILOG, short_help="Remove everything that the router wrote.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed. Change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_context
def uninstall(ctx: click.Context, /, dry_run: bool, yes: bool, **flags: str | None) -> None:
    """Remove everything that the router wrote to the BIG-IP and into statuses.

    Stop the router first. Exit status: 0 if nothing is left; 1 otherwise; 2 for invalid settings.
    """
    with invocation.reported():
        config = invocation.configured(flags)
        log.info("settings", extra={"version": __version__, "config": config.redacted()})
        module = ctx.obj or invocation.loaded("f5router.cli.uninstall")
        exit_status = module.uninstall(config, dry_run=dry_run, confirm=lambda text: yes or _confirmed(text),
                                       stopping=invocation.stopping)
    sys.exit(exit_status)


def _confirmed(question: str) -> bool:
    """True if the user confirms; False without a terminal."""
    if not sys.stdin.isatty():
        click.echo("No terminal to ask for confirmation: use --yes or --dry-run.", err=True)
        return False
    return click.confirm(question)


@main.group(short_help="Work on the statuses of Routes and other objects.")
def status() -> None:
    """Work on the statuses of Routes, Ingresses, IngressRoutes, Gateways and their routes."""


@status.command(cls=SettingsCommand, settings=_CLEAR_SETTINGS,
                short_help="Remove what a router wrote into statuses.")
@click.option("--router-name", envvar="ROUTER_SERVICE_NAME", default="", metavar="NAME",
              help="Name of the router whose entries to remove, its --name.  [ROUTER_SERVICE_NAME]")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only objects of this namespace.")
@click.option("--sources", default="routes", metavar="KIND,...", show_default=True,
              help="Kinds of objects: routes, ingress, ingressroutes, gateway. Statuses of other kinds than "
                   "Routes name no router: those of a router with these settings are removed.")
@click.option("--labels", default="", metavar="SELECTOR", help="Only objects that match this label selector.")
@click.option("--fields", default="", metavar="SELECTOR", help="Only Routes that match this field selector.")
@click.option("--dry-run", is_flag=True, help="Print the objects. Change nothing.")
def clear(router_name: str, namespace: str, sources: str, labels: str, fields: str, dry_run: bool,
          **flags: str | None) -> None:
    """Remove what a router wrote into statuses. A running router writes it again.

    Exit status: 0 if nothing is left; 1 otherwise; 2 for invalid settings.
    """
    with invocation.reported():
        statusclear = invocation.loaded("f5router.cli.clear_status")
        scope = Selection(namespace or None, labels, fields)
        settings = statusclear.load(router_name, scope, invocation.named(flags), os.environ, sources)
        log_output.setup(settings.log_level, settings.log_format)
        exit_status = statusclear.run_all(settings, dry_run=dry_run)
    sys.exit(exit_status)


main.add_command(queries.get)
main.add_command(queries.explain)


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


def _allow_connections() -> None:
    """Raise the limit of open files as far as allowed, as programs in Go do by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
