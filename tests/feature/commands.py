"""The commands `get` and `explain` on both fakes, and what their tests set up."""

from contextlib import ExitStack
from pathlib import Path

from click.testing import CliRunner, Result

from f5router.cli.main import main
from tests import manifests
from tests.feature.conftest import Lab

SOURCES = "routes,ingress,ingressroutes"
FLAGS = {"sources": SOURCES, "f5_static_routes": "true", "f5_connect_timeout": "60"}


def labelled(obj: dict, **labels: str) -> dict:
    """The object with these labels alone."""
    obj["metadata"]["labels"] = labels
    return obj


def shop(stack: ExitStack, folder: Path, *objects: dict) -> Lab:
    """A router has written these objects, beside the Service shop/web with two pods on the Node node-1.

    It makes static routes, and serves all kinds of objects; the IngressClass is the router's.
    """
    lab = Lab(stack, folder)
    lab.virtuals()
    lab.bigip.put_object("net/self", {"name": "near", "address": "10.3.0.9/24", "vlan": "/Common/internal"})
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")),
              labelled(manifests.node("node-1", "10.3.0.1", cidrs=("10.1.1.0/24",)), zone="a"),
              manifests.ingress_class(), *objects)
    assert lab.converge(**{name: FLAGS[name] for name in ("sources", "f5_static_routes")}) == []
    return lab


def invoke(lab: Lab, *arguments: str, **flags: str) -> Result:
    """Run a command; it writes nothing."""
    lab.clear()
    given = [f"--{name}={value}" for name, value in lab.flags(**{**FLAGS, **flags}).items()]
    result = CliRunner().invoke(main, [*arguments, *given])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert lab.writes() == []
    assert lab.bigip.password not in result.output
    return result
