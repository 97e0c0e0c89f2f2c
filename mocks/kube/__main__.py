"""Command line: serve objects of YAML files until stopped."""

from pathlib import Path

import click

from mocks.closing import stop_event

from .fake import TOKEN, FakeKube
from .kinds import GATEWAY_APIS, NETWORK_APIS, ROUTE_APIS
from .manifests import ManifestError


@click.command()
@click.option("--port", default=0, show_default=True, help="Port on the loopback address; 0 takes any.")
@click.option("--load", "files", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="YAML file of objects to start with; may be repeated.")  # fmt: skip
@click.option("--write-kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--openshift/--no-openshift", default=True, help="Serve Routes and the OpenShift SDN's kinds.")
@click.option("--slices/--no-slices", default=True, help="Serve EndpointSlices.")
@click.option("--network-api", type=click.Choice(NETWORK_APIS), default="group", show_default=True,
              help="Where HostSubnets are served: in their API group, under /oapi/v1, or nowhere.")
@click.option("--route-api", type=click.Choice(ROUTE_APIS), default="group", show_default=True,
              help="Where Routes are served: in their API group, or under /oapi/v1 alone.")
@click.option("--gateway-api", type=click.Choice(tuple(GATEWAY_APIS)), default="none", show_default=True,
              help="Release of the Gateway API whose kinds are served.")
@click.option("--sdn/--no-sdn", default=False, help="Play the SDN's master: give ghost HostSubnets a subnet.")
@click.option("--sdn-delay", "sdn_delay_s", type=click.FloatRange(min=0), default=0.1, show_default=True,
              help="Seconds that the SDN's master takes for each step.")
@click.option("--token", default=TOKEN, show_default=True, help="Accepted bearer token.")
def main(
    port: int,
    files: tuple[Path, ...],
    write_kubeconfig: Path | None,
    openshift: bool,
    slices: bool,
    network_api: str,
    route_api: str,
    gateway_api: str,
    sdn: bool,
    sdn_delay_s: float,
    token: str,
) -> None:
    """Run the fake Kubernetes API server; it keeps nothing between starts."""
    stop = stop_event()
    kube = FakeKube(port, openshift, slices, token=token, network_api=network_api, route_api=route_api,
                    gateway_api=gateway_api, sdn=sdn, sdn_delay_s=sdn_delay_s)  # fmt: skip
    try:
        for file in files:
            kube.load(file)
        kube.start()
    except (ManifestError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
    with kube:
        if write_kubeconfig:
            kube.write_kubeconfig(write_kubeconfig)
        click.echo(f"ready: {kube.url} kubeconfig={write_kubeconfig or '-'}")
        stop.wait()


if __name__ == "__main__":
    main()
