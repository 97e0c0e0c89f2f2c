"""Command line: the demo from start to end.

Exit status: 0 when all was as expected, 1 when not, 130 when interrupted before that was known.
"""

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterable

import click
import requests

from f5router.logs.progress import Fields, Figures, Progress
from mocks.demo import asking, changes, expected, gateways, tables
from mocks.demo.calls import Log, Traffic
from mocks.demo.network import Network, read_network
from mocks.demo.processes import DemoError, Interrupted, interruptible, wait_until
from mocks.demo.servers import GATEWAY_ADDRESSES, Lab
from mocks.demo.serving import Row, read_rows

CONVERGE_LIMIT_S = 300.0
QUIET_S = 0.3
"""Writes that come later than this after the last one belong to nothing."""
ROOT = "news/portal"
"""The IngressRoute that delegates a part of its host."""
REJECTED = "docs/route-wildcard"
LOOK_S = 0.5
"""Between looks whether everything still runs."""


@click.command()
@click.option("--once", is_flag=True, help="End when everything has been shown.")
def main(once: bool) -> None:
    """Run a router between a fake cluster and a fake BIG-IP, and show what it does."""
    status = 0
    with interruptible(), Lab() as lab:
        try:
            show(lab)
            if not once:
                look_around(lab)
            lab.stop_router()
        except Interrupted:
            status = 130
        except (DemoError, requests.RequestException) as exc:
            status = 1
            fail(lab, exc)
    sys.exit(status)


def show(lab: Lab) -> None:
    """Start, converge, change. Raises: DemoError: something is not as expected."""
    say("Starting a fake OpenShift cluster and a fake BIG-IP")
    with Progress("starting", still_waiting):
        lab.start_servers()
    click.echo(f"  cluster  {lab.cluster.url}, three namespaces with Routes, an "
               "Ingress, IngressRoutes, Services and pods; the kinds of the Gateway API")
    click.echo(f"  BIG-IP   {lab.device.url}, TMOS {lab.bigip.tmos_version}, without a virtual server")
    say("Giving the BIG-IP a subnet of the pod network")
    with Progress("waiting for the subnet", still_waiting):
        commands = lab.join_network()
    for command, said in commands:
        click.echo(f"  $ {command}\n{said}")
    say("Starting the router")
    log = Log(lab.bigip)
    lab.start_router()
    click.echo(f"  f5router run, log in {lab.router.log}")
    click.echo(f"  status page at {lab.status_page()}")
    traffic, rows, network = converge(lab, log, expected.AT_START)
    say(f"The BIG-IP is in step with the cluster: {traffic}")
    click.echo(tables.routes(rows))
    click.echo(f"\n{tables.LEGEND}\n\n{tables.rejections(rows)}\n\n{tables.counts(traffic)}")
    say("The BIG-IP is a host of the pod network, and has a record for each Node:")
    click.echo(f"{tables.device(network)}\n\n{tables.records(network)}")
    network = change(lab, log, "A third Node joins", changes.join, expected.JOINED)
    click.echo(f"\n{tables.records(network)}")
    change(lab, log, "Two more pods of Service shop/web, on that Node", changes.scale, expected.SCALED)
    change(lab, log, "A new Route, shop/sale", changes.add, expected.ADDED)
    change(lab, log, "Route shop/newsletter gets the right key",
           lambda cluster: changes.fix(cluster, lab.public), expected.FIXED)
    ask(lab)
    publish(lab, log)
    say(f"Who serves what of an IngressRoute? f5router explain ingressroute {ROOT}:")
    click.echo(lab.explain(ROOT))
    say("Is anything left to do? f5router plan:")
    answer = lab.plan()
    click.echo(answer)
    if "Nothing to do" not in answer:
        raise DemoError("The plan is not empty.")
    lab.check()


def publish(lab: Lab, log: Log) -> None:
    """Create a Gateway with HTTPRoutes, and ask it. Raises: DemoError."""
    log.begin()
    gateways.publish(lab.cluster)
    with Progress("waiting for the Gateway", still_waiting):
        published = wait_until(lambda: None if (seen := gateways.read(lab.cluster)).problems else seen,
                               CONVERGE_LIMIT_S, "The Gateway is not programmed")
    wait_until(lambda: log.quiet_s > QUIET_S, CONVERGE_LIMIT_S, "The router goes on writing")
    say(f"A Gateway and two HTTPRoutes: {log.take()}")
    click.echo(f"  edge/blog has the address {', '.join(published.addresses)}, of {GATEWAY_ADDRESSES}, and "
               "virtual servers of its own")
    click.echo(f"{tables.listeners(published)}\n\n{lab.http_routes()}\n")
    put(gateways.questions(lab))


def ask(lab: Lab) -> None:
    """A request for each Route, as somebody would type it. Raises: DemoError: another one answered."""
    say("Requests through the BIG-IP to the pods; each command works in another terminal too:")
    if not shutil.which("curl"):
        click.echo("  (There is no curl here: none of them is run.)")
    put(asking.requests(lab, read_rows(lab.cluster, lab.device)))


def put(requests_: Iterable[asking.Request]) -> None:
    """Show each request and its answer. Raises: DemoError: another one answered."""
    for request in requests_:
        click.echo(f"  $ {request}")
        if shutil.which("curl"):
            click.echo(f"    {asking.ask(request)}")


def change(lab: Lab, log: Log, title: str, act: Callable, expectation: expected.State) -> Network:
    """Do something in the cluster and show what the router did. Raises: DemoError."""
    log.begin()
    act(lab.cluster)
    traffic, _, network = converge(lab, log, expectation)
    say(f"{title}: {traffic}")
    click.echo(tables.calls(traffic.writes))
    return network


def converge(lab: Lab, log: Log, expectation: expected.State) -> tuple[Traffic, list[Row], Network]:
    """Wait until everything is as expected. Raises: DemoError: it is not, in time."""
    problems: list[str] = []

    def look() -> tuple[list[Row], Network] | None:
        lab.check()
        try:
            seen = read_rows(lab.cluster, lab.device), read_network(lab.cluster, lab.device)
        except requests.HTTPError as exc:  # what is looked for is not there yet
            problems[:] = [str(exc)]
            return None
        problems[:] = expected.differences(*seen, expectation)
        progress.update(lambda: Figures(fields={"differences": len(problems)}))
        return None if problems else seen

    try:
        with Progress("waiting until the BIG-IP is in step", still_waiting) as progress:
            rows, network = wait_until(look, CONVERGE_LIMIT_S, "The BIG-IP has not converged")
    except DemoError as exc:
        raise DemoError(f"{exc}:\n{tables.indent(problems)}") from exc
    wait_until(lambda: log.quiet_s > QUIET_S, CONVERGE_LIMIT_S, "The router goes on writing")
    traffic = log.take()
    if traffic.refused:
        raise DemoError(f"The BIG-IP refused calls:\n{tables.calls(traffic.refused)}")
    return traffic, rows, network


def look_around(lab: Lab) -> None:
    """Say how to see more, and wait to be interrupted. Raises: DemoError: a program has ended."""
    login = f"{lab.bigip.username}:{lab.bigip.password}"
    curl = f"curl -s --cacert {lab.folder}/bigip-ca.crt -u {login} {lab.device.url}/mgmt/tm"
    say("Everything keeps running until Ctrl-C. In another terminal, in this directory:")
    click.echo(f"""
  # the cluster: look, edit, add, delete
  export KUBECONFIG={lab.kubeconfig}
  kubectl get routes,ingresses,ingressroutes,endpointslices -A
  kubectl -n shop edit route web
  kubectl get nodes,hostsubnets
  kubectl delete node node-3

  # the BIG-IP
  {curl}/ltm/pool/~Common~openshift_shop_web/members | python3 -m json.tool
  {curl}/ltm/policy/~Common~openshift_secure_routes/rules | python3 -m json.tool
  {curl}/net/fdb/tunnel/~Common~vxlan5000/records | python3 -m json.tool

  # the router: what is served and why something is not, what it does, and what it would do
  # in a browser: {lab.status_page()}
  tail -f {lab.router.log}
  (. {lab.environment_file} && {sys.executable} -m f5router get routes)
  (. {lab.environment_file} && {sys.executable} -m f5router explain route {REJECTED})
  (. {lab.environment_file} && {sys.executable} -m f5router explain request https://shop.example.com/api)
  (. {lab.environment_file} && {sys.executable} -m f5router explain ingressroute {ROOT})
  (. {lab.environment_file} && {sys.executable} -m f5router explain gateway {'/'.join(gateways.GATEWAY)})
  (. {lab.environment_file} && {sys.executable} -m f5router doctor)
  (. {lab.environment_file} && {sys.executable} -m f5router plan --log-level=warning)
""")
    with contextlib.suppress(Interrupted):
        while True:
            lab.check()
            time.sleep(LOOK_S)
    say("Stopping")


def fail(lab: Lab, problem: Exception) -> None:
    """Say what is wrong, and leave the files."""
    lab.keep = True
    click.echo(f"\n{click.style('The demo failed.', bold=True, fg='red')} {problem}", err=True)
    for error in lab.faults():
        click.echo(f"Fault of the fake BIG-IP: {error!r}", err=True)
    if lab.router:
        click.echo(f"\nThe end of {lab.router.log}:\n{lab.router.tail()}", err=True)
    click.echo(f"\nAll files are left in {lab.folder}", err=True)


def still_waiting(fields: Fields) -> None:
    """A line where there is no terminal for a bar."""
    click.echo("  still waiting: " + ", ".join(f"{name} {value}" for name, value in fields.items()), err=True)


def say(text: str) -> None:
    """A heading."""
    click.echo(f"\n{click.style(text, bold=True)}")


if __name__ == "__main__":
    main()
