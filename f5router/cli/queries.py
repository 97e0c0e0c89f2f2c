"""Arguments of the commands `get` and `explain`, which are those of kubectl, and their help."""

import functools
import os
import sys

import click

from f5router.cli import invocation
from f5router.cli.invocation import EPILOG, Flags
from f5router.cli.settings_command import KindGroup, SettingsCommand
from f5router.config.options import OPTIONS
from f5router.logs import log_output
from f5router.model import selection
from f5router.model.errors import ConfigError
from f5router.model.gateway import GATEWAY, ROUTE_KINDS

_SETTINGS = tuple(name for name in OPTIONS if name != "namespace")
"""Settings of commands whose own --namespace chooses objects, and does not limit what is read."""

TABLE, WIDE, NAME, JSON, YAML = OUTPUTS = ("table", "wide", "name", "json", "yaml")
"""Formats of lists."""


@click.group(cls=KindGroup, short_help="List what the router serves.")
def get() -> None:
    """List what the router serves, from the cluster and the BIG-IP. Change nothing.

    Exit status: 0 with a list, also an empty one; 1 if there is no object of a name that was given, or the
    cluster or the BIG-IP cannot be read; 2 for invalid settings and arguments.
    """


_LISTED = {
    "routes": ("List Routes and those that other objects stand for.", True),
    "ingresses": ("List Ingresses of this router's class.", True),
    "ingressroutes": ("List IngressRoutes of this router's class.", True),
    "gateways": ("List Gateways of this router's classes.", True),
    **{f"{kind.lower()}s": (f"List {kind}s of this router's Gateways.", True) for kind in ROUTE_KINDS},
    "nodes": ("List Nodes and the ways to their pods.", False),
    "pools": ("List pools on the BIG-IP and their members.", True),
}
"""Kinds with what `get` does for each; True for one whose objects belong to namespaces."""


_LABELS = ("Only objects with these labels: key=value, key!=value, key in (a,b), key notin (a,b), key, !key, "
           "several with commas between.")


def _labels(selector: str) -> str:
    """Return a label selector in the form of the API. Raises: ConfigError."""
    try:
        return selection.parse_labels(selector)
    except ValueError as exc:
        raise ConfigError([f"-l, --selector: {exc}"]) from None


def _listing(kind: str, text: str, *, namespaced: bool) -> click.Command:
    """Return the command that lists a kind."""
    def command(given: tuple[str, ...], output: str, selector: str, watch: bool, shown: str = "",
                everywhere: bool = False, **flags: str | None) -> None:
        with invocation.reported():
            if given and selector:
                raise ConfigError(["names and --selector exclude each other"])
            labels = _labels(selector)
            listed = invocation.loaded("f5router.cli.get")
            chosen = listed.ChosenObjects("" if everywhere else shown, frozenset(given), labels)
            config = invocation.quiet(flags)
            if not watch:
                sys.exit(listed.get(config, kind, chosen, output=output))
            with invocation.stopping() as stop:
                status = listed.watch(config, kind, chosen, output=output, stop=stop)
        sys.exit(status)

    command.__doc__ = text
    options = [
        click.option("-o", "--output", type=click.Choice(OUTPUTS), default=TABLE, show_default=True,
                     help="Output format."),
        click.option("-l", "--selector", default="", metavar="SELECTOR", help=_LABELS),
        click.option("-w", "--watch", is_flag=True,
                     help="Keep reading, and print what has changed, until Ctrl-C."),
        click.argument("given", nargs=-1,
                       metavar="[[NAMESPACE/]NAME]..." if namespaced else "[NAME]...")]
    if namespaced:
        options += [
            click.option("-n", "--namespace", "shown", default="", metavar="NAME",
                         help="Only objects of this namespace."),
            click.option("-A", "--all-namespaces", "everywhere", is_flag=True,
                         help="Objects of all namespaces, which is the default.")]
    for option in reversed(options):
        option(command)
    return click.command(kind, cls=SettingsCommand, epilog=EPILOG, settings=_SETTINGS)(command)


for _kind, (_text, _namespaced) in _LISTED.items():
    get.add_command(_listing(_kind, _text, namespaced=_namespaced))


@click.group(cls=KindGroup, short_help="Show how an object is served or why not.")
def explain() -> None:
    """Show how an object of the cluster or a request is served, or why not. Change nothing.

    Exit status: 0 if nothing is broken; 1 if something is broken or cannot be read; 2 for invalid settings.
    """


_in_namespace = click.option("-n", "--namespace", "namespace", default="", metavar="NAME",
                             help="Namespace of the object, if its name is given alone.")
_by_labels = click.option("-l", "--selector", default="", metavar="SELECTOR",
                          help=f"In place of a name. {_LABELS}")


def _require_one(kind: str, given: str, selector: str) -> None:
    """Require a name or labels. Raises: ConfigError: both or none are given."""
    if bool(given) == bool(selector):
        raise ConfigError([f"give the name of one {kind}, or -l SELECTOR for several"])


def _explained(kind: str, text: str) -> None:
    """Add a command for objects of a namespace to `explain`. Args: kind: such as "Route"."""
    @click.option("-o", "--output", type=click.Choice(["text", "dot"]), default="text", show_default=True,
                  help="Output format; dot is a graph for Graphviz.")
    @_in_namespace
    @_by_labels
    @click.argument("given", metavar="[[NAMESPACE/]NAME]", default="")
    def command(given: str, namespace: str, selector: str, output: str, **flags: str | None) -> None:
        with invocation.reported():
            _require_one(kind, given, selector)
            if selector:
                labels, labelled = _labels(selector), invocation.loaded("f5router.cli.explain_labelled")
                status = labelled.explain(invocation.quiet(flags), kind, labels, namespace, output=output)
            else:
                objects = invocation.loaded("f5router.cli.explain_objects")
                status = objects.explain(invocation.quiet(flags), kind, given, namespace, output=output)
        sys.exit(status)

    command.__doc__ = text
    explain.command(kind.lower(), cls=SettingsCommand, epilog=EPILOG, settings=_SETTINGS)(command)


def _explained_alone(kind: str, metavar: str, text: str) -> None:
    """Add a command for what belongs to no namespace to `explain`."""
    def command(given: str, **flags: str | None) -> None:
        with invocation.reported():
            function = getattr(invocation.loaded("f5router.cli.explain_objects"), f"explain_{kind}")
            status = function(invocation.quiet(flags), given)
        sys.exit(status)

    command.__doc__ = text
    click.argument("given", metavar=metavar)(command)
    explain.command(kind, cls=SettingsCommand, epilog=EPILOG, settings=tuple(OPTIONS))(command)


_explained("Route", "Show the way from a Route to its pods.")
_explained("Ingress", "Show each Route of an Ingress and its first broken link.")
_explained(GATEWAY, "Show the listeners and routes of a Gateway.")
for _kind in ROUTE_KINDS:
    _explained(_kind, f"Show the Gateways and the pods of {_kind}s.")
_explained("Service", "Show each Route of a Service and its first broken link.")
_explained_alone("host", "HOST", "Show each Route of a host and its first broken link.")
_explained_alone("node", "NAME", "Show the way to a Node's pods and their Routes.")
_explained_alone("request", "URL", "Show who answers a request by the objects on the BIG-IP.")


@explain.command(cls=SettingsCommand, epilog=EPILOG, settings=_SETTINGS,
                 short_help="Show an IngressRoute from its roots to its pods.")
@_in_namespace
@_by_labels
@click.argument("given", metavar="[[NAMESPACE/]NAME]", default="")
def ingressroute(given: str, namespace: str, selector: str, **flags: str | None) -> None:
    """Show an IngressRoute from its roots to its Services, and where and why a branch is cut.

    If the settings name a BIG-IP, each Route follows down to its pods, with its first broken link.
    """
    with invocation.reported():
        _require_one("IngressRoute", given, selector)
        command, follow = invocation.loaded("f5router.cli.explain"), None
        settings = command.load(given, namespace, _labels(selector), invocation.named(flags), os.environ)
        if _names_bigip(flags):
            config, objects = invocation.quiet(flags), invocation.loaded("f5router.cli.explain_objects")
            follow = functools.partial(objects.explain_ingress_routes, config)
        else:
            log_output.setup(settings.log_level, settings.log_format)
        exit_status = command.ingress_route(settings, follow)
    sys.exit(exit_status)


def _names_bigip(flags: Flags) -> bool:
    """True if the settings name a BIG-IP or the directory with its login."""
    given, names = invocation.named(flags), ("f5-host", "f5-credentials-dir")
    return any(given.get(name) or os.environ.get(OPTIONS[name].env) for name in names)
