"""Output of the demo."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence

import click
from tabulate import tabulate

from mocks.demo.calls import Call, Traffic
from mocks.demo.gateways import Published
from mocks.demo.network import PROFILE, TUNNEL, Network
from mocks.demo.publications import ADMITTED
from mocks.demo.serving import REDIRECT, Row, Serving

LEGEND = """\
rule      in LTM policy openshift_insecure_routes (port 80) or openshift_secure_routes (port 443),
          named openshift_route_<namespace>_<Route>; it forwards to the pool, or redirects to https.
          For an Ingress or IngressRoute, -i- or -c- and a digest stand before its name
record    in data-group ssl_passthrough_servername_dg, where an iRule looks the SNI up
TLS       towards the pods: the pool has a record in data-group ssl_reencrypt_serverssl_dg
default certificate: the one that the router was given, see DEFAULT_CERTIFICATE_PATH"""

MESSAGE_WIDTH = 100


def routes(rows: Sequence[Row]) -> str:
    """Every Route: a table with two lines for each, or a list where the terminal is too narrow."""
    cells = [
        (
            f"{click.style(row.name, bold=True)}\n{row.address}",
            f"{row.kind}\n{row.serving.certificate}",
            "\n".join(_places(row.serving)) or "-",
            f"{row.pool}\n{_members(row.serving.members)}" if row.pool else "-",
            _status(row),
        )
        for row in rows
    ]
    headers = ("Route\nhost and path", "kind, policy\ncertificate", "on the\nBIG-IP", "pool\nmembers",
               "status")
    table = tabulate(cells, headers=headers, tablefmt="simple")
    width = max(len(click.unstyle(line)) for line in table.splitlines())
    if width > shutil.get_terminal_size((width, 0)).columns:
        return "\n".join(_block(row) for row in rows)
    return table


def rejections(rows: Iterable[Row]) -> str:
    """Why Routes are rejected, as their status says."""
    cells = [
        (row.name, row.serving.status, textwrap.fill(row.message, MESSAGE_WIDTH))
        for row in rows if row.serving.status != ADMITTED
    ]
    return tabulate(cells, headers=("rejected Route", "reason", "message"), tablefmt="simple")


def device(network: Network) -> str:
    """Return a table of what makes the BIG-IP a host of the pod network."""
    cells = [("VxLAN profile", PROFILE, network.profile), ("tunnel", TUNNEL, network.tunnel),
             ("self IP", network.self_ip, f"on {TUNNEL}")]
    return tabulate(cells, headers=("object", "name", "properties"), tablefmt="simple")


def records(network: Network) -> str:
    """Where each Node takes VxLAN."""
    cells = [(mac, *place.split()) for mac, place in network.nodes.items()]
    return tabulate(cells, headers=("FDB record", "endpoint", "Node"), tablefmt="simple")


def listeners(published: Published) -> str:
    """The listeners of a Gateway, as its status has them."""
    cells = [(each.name, each.routes, each.programmed) for each in published.listeners]
    return tabulate(cells, headers=("listener", "attachedRoutes", "Programmed"), tablefmt="simple")


def calls(writes: Iterable[Call]) -> str:
    """A line for each."""
    cells = [(call.method, call.path, call.what, call.status) for call in writes]
    return tabulate(cells, headers=("method", "path below /mgmt/tm", "body", "reply"), tablefmt="simple",
                    disable_numparse=True)


def counts(traffic: Traffic) -> str:
    """The writes by method and collection."""
    cells = [(number, method, path) for method, path, number in traffic.by_collection()]
    return tabulate(cells, headers=("writes", "method", "path"), tablefmt="simple")


def indent(lines: Iterable[str]) -> str:
    return textwrap.indent("\n".join(lines), "  ")


def _block(row: Row) -> str:
    """A Route in a list."""
    kind = ", ".join(filter(None, (row.kind, row.serving.certificate)))
    lines = [f"{click.style(row.name, bold=True)}: {_status(row)}", f"  {row.address}  ({kind})"]
    lines += [f"  {place}" for place in _places(row.serving)]
    if row.pool:
        lines += [f"  {row.pool}", f"    {_members(row.serving.members)}"]
    return "\n".join(lines)


def _status(row: Row) -> str:
    return ADMITTED if row.serving.status == ADMITTED else click.style("rejected", fg="red")


def _places(serving: Serving) -> Iterable[str]:
    if serving.port_80:
        yield f"80   {_place(serving.port_80, serving)}"
    if serving.port_443:
        yield f"443  {_place(serving.port_443, serving)}"


def _place(place: str, serving: Serving) -> str:
    return f"{place}, {serving.pods}" if serving.pods and place != REDIRECT else place


def _members(members: tuple[str, ...]) -> str:
    """Two of them, and how many more."""
    more = f" and {len(members) - 2} more" if len(members) > 2 else ""
    return ", ".join(members[:2]) + more if members else "no members"
