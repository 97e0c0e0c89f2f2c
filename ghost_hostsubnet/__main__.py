"""Command line: ghost-hostsubnet create, show, gateway, check and delete.

The result goes to standard output, progress and problems to standard error. Exit status: 0 for success, 1 for
a failure or a failed check, 2 for wrong usage.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, TypeVar

import click

from f5router import __version__
from f5router.config import parsers
from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.logs.progress import Fields, Progress
from f5router.model.errors import (
    ConfigError,
    KubeConflict,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnreachable,
    RouterError,
)
from f5router.model.texts import printable
from ghost_hostsubnet import gateway as gateways
from ghost_hostsubnet import manifest, output
from ghost_hostsubnet.cluster import SDNClient
from ghost_hostsubnet.wait import Waiter

WRONG = 1
BAD_SETTINGS = 2
"""Exit status for wrong settings, the same as click's for wrong usage."""

TRIES = 10
PAUSE_S = 0.5
"""Attempts to delete a HostSubnet that the SDN's master is just re-creating, and the time between two."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Print what would be done. Change nothing.")


def _valid(problem: Callable[[str], str]) -> Callable[[click.Context, click.Parameter, str], str]:
    """Return a click callback that refuses a value for the reason that `problem` returns."""
    def callback(ctx: click.Context, param: click.Parameter, value: str) -> str:
        if reason := problem(value):
            raise click.BadParameter(reason, ctx, param)
        return value
    return callback


Command = TypeVar("Command", bound=Callable[..., Any])

_NAME = click.option("--name", required=True, metavar="NAME", help="Name of the HostSubnet.")


class _Duration(click.ParamType):  # type: ignore[type-arg]  # no type argument before click 8.4
    """A Go duration of at least a second."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return value if isinstance(value, float) else parsers.duration(1)(value)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)


def _output(help_text: str = "Output format.") -> Callable[[Command], Command]:
    return click.option("-o", "--output", "form", type=click.Choice(output.FORMS), default="table",
                        show_default=True, help=help_text)


def _on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a cluster to a command, which gets an SDNClient instead, and report errors."""
    @click.option("--kubeconfig", "--config", "kubeconfig", metavar="FILE", help="kubeconfig file. Default: "
                  "KUBECONFIG, then the pod's service account, then ~/.kube/config.")
    @click.option("--context", metavar="NAME",
                  help="Context of the kubeconfig. Default: the current context.")
    @functools.wraps(command)
    def wrapped(*args: Any, kubeconfig: str | None, context: str | None, **options: Any) -> None:
        with _reported():
            connection = connect(KubeSettings(kubeconfig=kubeconfig, context=context))
            with contextlib.closing(connection):
                command(SDNClient(connection), *args, **options)
    return wrapped


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Print errors, a line each, and exit."""
    try:
        yield
    except ConfigError as exc:
        _end(exc.problems, BAD_SETTINGS)
    except RouterError as exc:
        _end([str(exc)])


def _end(problems: Iterable[str], status: int = WRONG) -> NoReturn:
    for problem in problems:
        _print_progress(f"error: {problem}")
    sys.exit(status)


def _end_if_any(problems: Iterable[str]) -> None:
    if problems := tuple(problems):
        _end(problems)


def _print_progress(text: str) -> None:
    """Print a line of progress, or a problem."""
    click.echo(printable(text), err=True)


def _print_result(text: str) -> None:
    """Print a line of the result."""
    click.echo(printable(text))


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="ghost-hostsubnet")
def main() -> None:
    """Creates and checks the HostSubnet that represents the BIG-IP in OpenShift's SDN."""


@main.command()
@click.option("--name", required=True, metavar="NAME", callback=_valid(manifest.name_problem),
              help="Name of the HostSubnet; no Node may have it.")
@click.option("--host-ip", required=True, metavar="ADDRESS", callback=_valid(manifest.address_problem),
              help="The BIG-IP's internal address, to which nodes send; the router's --f5-internal-address.")
@click.option("--timeout", "timeout_s", type=_Duration(), default="60s", show_default=True,
              metavar="DURATION", help="How long to wait for the subnet.")
@_DRY_RUN
@_output("Output format; with --dry-run and a format other than table, the manifest is printed.")
@_on_cluster
def create(cluster: SDNClient, name: str, host_ip: str, timeout_s: float, dry_run: bool, form: str) -> None:
    """Create the HostSubnet, unless it exists, and wait until it has a subnet."""
    known, objects = cluster.read()
    decision = manifest.decide(name, host_ip, known)
    _end_if_any(decision.problems)
    if dry_run:
        _show_intent(cluster, name, host_ip, decision, form)
        return
    if decision.action == "keep":
        _print_progress(f"HostSubnet {name} already exists; nothing to do")
        hostsubnet = objects[name]
    else:
        request = objects.get(name) or _created(cluster, name, host_ip)
        hostsubnet = _assigned(cluster, name, manifest.decode(request), timeout_s)
        # The SDN's master may have created something else than requested.
        assigned = manifest.SDNFacts((manifest.decode(hostsubnet),))
        _end_if_any(manifest.decide(name, host_ip, assigned).problems)
    click.echo(output.hostsubnets([hostsubnet], known, form))


def _show_intent(cluster: SDNClient, name: str, host_ip: str, decision: manifest.SubnetDecision,
                 form: str) -> None:
    intent = {
        "create": f"would create HostSubnet {name} with hostIP {host_ip}, and wait for its subnet",
        "wait": f"HostSubnet {name} exists, without a subnet yet; would wait for it",
        "keep": f"HostSubnet {name} already exists; nothing to do",
    }[decision.action]
    if form == "table":
        _print_result(intent)
        return
    _print_progress(intent)
    if decision.action == "create":
        click.echo(output.structured(manifest.build(name, host_ip, cluster.api.version), form))


def _assigned(cluster: SDNClient, name: str, request: manifest.HostSubnetInfo,
              timeout_s: float) -> dict[str, Any]:
    """Wait for the HostSubnet with its subnet. Args: request: what the API server has by now."""
    # One that requests nothing has been re-created already; its uid stays.
    uid = request.uid if request.pending else ""
    try:
        with Progress(f"waiting for the subnet of {name}", _still_waiting) as progress:
            return Waiter(cluster, name, uid=uid, timeout_s=timeout_s, report=_print_progress,
                          progress=progress, clock=time.monotonic, sleep=time.sleep).run()
    except KubeForbidden as exc:
        raise RouterError(f"HostSubnet {name} is there, but this user may not watch it: {exc}") from exc
    except KeyboardInterrupt:
        _print_progress(f"HostSubnet {name} is left unchanged; run the same command to keep waiting")
        raise


def _still_waiting(fields: Fields) -> None:
    _print_progress(f"still waiting, {fields['waited']}: {fields['state']}")


def _created(cluster: SDNClient, name: str, host_ip: str) -> dict[str, Any]:
    """Create the HostSubnet that requests a subnet; {} if another one is just being re-created."""
    try:
        hostsubnet = _post(cluster, name, host_ip)
    except KubeConflict as exc:  # created since: by another administrator, or the SDN master
        other = cluster.read()[1].get(name)
        if other and manifest.decode(other).host_ip != host_ip:
            raise RouterError(f"HostSubnet {name} was created by somebody else meanwhile, with another "
                              f"hostIP: {exc}") from exc
        return other or {}
    except KubeUnreachable as exc:
        raise RouterError(f"HostSubnet {name} may have been created or not ({exc}): run the same command "
                          "again, which never creates a second one") from exc
    _print_progress(f"created HostSubnet {name} with hostIP {host_ip}")
    return hostsubnet


def _post(cluster: SDNClient, name: str, host_ip: str) -> dict[str, Any]:
    """Create it without a subnet, or with a placeholder where the schema wants one. Raises: KubeError."""
    try:
        return cluster.create(manifest.build(name, host_ip, cluster.api.version))
    except KubeInvalid as exc:
        if "subnet: Required value" not in str(exc):
            raise
    return cluster.create(manifest.build(name, host_ip, cluster.api.version, manifest.PLACEHOLDER))


@main.command()
@click.option("--name", metavar="NAME", help="Name of the HostSubnet. Default: all without a Node.")
@_output()
@_on_cluster
def show(cluster: SDNClient, name: str | None, form: str) -> None:
    """Show the HostSubnet, or all that have no Node."""
    known, objects = cluster.read()
    names = [name] if name else [ghost.name for ghost in known.ghosts]
    hostsubnets = [objects[each] for each in names if each in objects]
    if name and not hostsubnets:
        _end([_absent(name, known)])
    if not hostsubnets and form == "table":
        _print_progress("no HostSubnet without a Node")
        return
    click.echo(output.hostsubnets(hostsubnets, known, form, several=name is None))


@main.command(short_help="Print the BIG-IP's address in the pod network.")
@_NAME
@_output("Output format; table is the bare address.")
@_on_cluster
def gateway(cluster: SDNClient, name: str, form: str) -> None:
    """Print the BIG-IP's address in the pod network: one of the subnet, with the cluster's mask.

    It is the value of the router's --f5-vxlan-gateway-cidr, or ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR.
    """
    known, _ = cluster.read()
    hostsubnet = known.named(name)
    if hostsubnet is None:
        _end([_absent(name, known)])
    if not hostsubnet.ready or hostsubnet.network is None:
        _end([f"HostSubnet {name} has no subnet yet: run ghost-hostsubnet create --name {name} --host-ip "
              f"{hostsubnet.host_ip} to wait for it"])
    try:
        address = gateways.choose(hostsubnet.network, known.networks)
    except gateways.GatewayError as exc:
        _end([str(exc)])
    network = gateways.network_of(hostsubnet.network, known.networks)
    for other in known.networks:
        if other != network:
            _print_progress(f"note: pods in {other} are not on-link with this gateway; add a route to it on "
                            "the BIG-IP, through the tunnel")
    if form == "table":
        _print_result(address)
    else:
        click.echo(output.structured(
            {"gateway": address, "subnet": str(hostsubnet.network), "clusterNetwork": str(network)}, form))


@main.command()
@_NAME
@click.option("--internal-address", metavar="ADDRESS", help="The router's --f5-internal-address, to compare.")
@click.option("--gateway-cidr", metavar="CIDR", help="The router's --f5-vxlan-gateway-cidr, to compare.")
@_output()
@_on_cluster
def check(cluster: SDNClient, name: str, internal_address: str | None, gateway_cidr: str | None,
          form: str) -> None:
    """Check an existing HostSubnet, and the router's options against it."""
    results = manifest.checks(name, cluster.read()[0], internal_address=internal_address,
                              gateway_cidr=gateway_cidr)
    click.echo(output.checks(results, form))
    sys.exit(0 if all(result.ok for result in results) else WRONG)


@main.command()
@_NAME
@_DRY_RUN
@_on_cluster
def delete(cluster: SDNClient, name: str, dry_run: bool) -> None:
    """Delete the HostSubnet, which gives its subnet back; never one of a Node."""
    pending = False
    for _ in range(TRIES):
        known, _ = cluster.read()
        hostsubnet = known.named(name)
        if hostsubnet is None and not pending:
            _print_result(f"there is no HostSubnet {name}; nothing to do")
            return
        if hostsubnet and known.of_node(hostsubnet):
            _end([f"{name} is the HostSubnet of a Node; the SDN deletes it with the Node"])
        if hostsubnet and dry_run:
            _print_result(f"would delete HostSubnet {name} with subnet {hostsubnet.subnet or 'none'}")
            return
        if hostsubnet and _deleted(cluster, hostsubnet):
            subnet = hostsubnet.subnet
            given_back = f"its subnet {subnet} is free again" if subnet else "it had no subnet"
            _print_result(f"deleted HostSubnet {name}; {given_back}")
            return
        pending = True  # the SDN master is about to create it again
        time.sleep(PAUSE_S)
    _end([f"the SDN master is re-creating HostSubnet {name}: run the same command again"])


def _deleted(cluster: SDNClient, hostsubnet: manifest.HostSubnetInfo) -> bool:
    """Return True if this very object was deleted; False if there is another or none by now."""
    try:
        cluster.delete(hostsubnet.name, hostsubnet.uid)
    except (KubeConflict, KubeNotFound):
        return False
    return True


def _absent(name: str, known: manifest.SDNFacts) -> str:
    others = ", ".join(ghost.name for ghost in known.ghosts) or "none"
    return f"there is no HostSubnet {name} (without a Node: {others})"


if __name__ == "__main__":
    main(prog_name="ghost-hostsubnet")
