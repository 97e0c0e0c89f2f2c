"""`python -m mocks.bigip`: a fake BIG-IP in the foreground."""

from __future__ import annotations

import shutil

import click

from mocks.bigip import addresses, faults, unit
from mocks.bigip.dataplane.control import Control
from mocks.bigip.quirks import Quirk
from mocks.bigip.server import PASSWORD, USERNAME, FakeBigIP
from mocks.closing import stop_event


@click.command(
    help=f"Serve a fake BIG-IP on 127.0.0.1 until SIGTERM or SIGINT. User {USERNAME}, "
    f"password {PASSWORD}. Nothing is kept between starts."
)
@click.option("--port", default=0, show_default=True, help="HTTPS port; 0 takes any.")
@click.option("--tmos-version", default="14.1.2.1", show_default=True)
@click.option("--ssh-port", type=int, default=None, help="Also serve SSH; 0 takes any port.")
@click.option("--partition", "partitions", multiple=True, help="Made at the start, besides Common.")
@click.option(
    "--fault",
    "faults_",
    multiple=True,
    metavar="NAME[:COUNT][:METHOD:PATH-REGEX]",
    help=f"One of {', '.join(faults.KINDS)}.",
)
@click.option(
    "--quirk",
    "quirks",
    multiple=True,
    metavar="NAME",
    help=f"One of {', '.join(sorted(Quirk))}; no-NAME takes away one of the version.",
)
@click.option(
    "--virtual",
    "virtuals",
    multiple=True,
    metavar="PATH=ADDRESS:PORT",
    help="A virtual server with http and tcp profiles, made at the start.",
)
@click.option(
    "--failover", type=click.Choice(unit.STATUSES), default=unit.ACTIVE, show_default=True,
    help="Failover state of the unit.",
)
@click.option(
    "--device-group", default="", metavar="NAME",
    help="Make it a unit of a pair with this sync-failover group.",
)
@click.option(
    "--sync", type=click.Choice(unit.SYNC_STATES), default=unit.IN_SYNC, show_default=True,
    help="Sync state at the start; with --device-group.",
)
@click.option("--dataplane", is_flag=True, help="Carry traffic; prints where each virtual server listens.")
@click.option(
    "--control-port", default=0, show_default=True, help="HTTP port that tells and changes the data plane."
)
@click.option(
    "--pod",
    "pods",
    multiple=True,
    metavar="ADDRESS:PORT[=NAME]",
    help="A stand-in that answers for this pool member; with --dataplane.",
)
@click.option(
    "--ca-out",
    type=click.Path(dir_okay=False, writable=True),
    default=None,
    help="Copy the CA that signed the server's certificate here.",
)
def main(
    port: int,
    tmos_version: str,
    ssh_port: int | None,
    partitions: tuple[str, ...],
    faults_: tuple[str, ...],
    quirks: tuple[str, ...],
    virtuals: tuple[str, ...],
    failover: str,
    device_group: str,
    sync: str,
    dataplane: bool,
    control_port: int,
    pods: tuple[str, ...],
    ca_out: str | None,
) -> None:
    stop = stop_event()
    try:
        big = FakeBigIP(
            tmos_version=tmos_version,
            quirks=frozenset(quirks),
            ssh=ssh_port is not None,
            port=port,
            partitions=("Common", *partitions),
            ssh_port=ssh_port or 0,
            dataplane={"told": _print_listener} if dataplane else False,
        )
        for fault in faults_:
            big.inject(**faults.parse(fault))
        for virtual in virtuals:
            path, _, destination = virtual.partition("=")
            big.add_virtual(path, destination)
        big.set_failover(failover)
        if device_group:
            big.join_group(device_group)
            big.set_sync(sync)
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from None
    with big:
        if ca_out:
            shutil.copyfile(big.ca_file, ca_out)
        ssh = "-" if big.ssh_port is None else big.ssh_port
        click.echo(
            f"url={big.url} user={big.username} password={big.password} ssh-port={ssh} "
            f"ca={ca_out or big.ca_file}"
        )
        if dataplane:
            _start_pods(big, pods)
            with Control(big.dataplane, control_port) as control:
                click.echo(f"control={control.url}")
                stop.wait()
        else:
            stop.wait()


def _print_listener(virtual: str, destination: str, where: tuple[str, int] | None) -> None:
    shown = addresses.listening(where) if where else "-"
    click.echo(f"listen={shown} destination={destination} virtual={virtual}")


def _start_pods(big: FakeBigIP, pods: tuple[str, ...]) -> None:
    """Raises: click.UsageError."""
    for text in pods:
        where, _, name = text.partition("=")
        try:
            address, port = addresses.split_port(where)
            big.pods.start(address, int(port), name)
        except ValueError:
            raise click.UsageError(f"--pod {text}: not ADDRESS:PORT") from None


if __name__ == "__main__":
    main()
