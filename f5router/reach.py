"""How the BIG-IP reaches pods, of the settings: VxLAN, static routes, or neither.

The second half of config.py, which has the rest.
"""

from dataclasses import dataclass

from f5router.settings import Reader
from f5router.vxlan import Setup

_VXLAN = ("f5-internal-address", "f5-vxlan-gateway-cidr")
_ROUTES = "f5-static-routes"


@dataclass(frozen=True, slots=True)
class Reach:
    """The fields of Config that tell it."""

    vxlan: Setup | None
    manage_snat: bool
    static_routes: bool


def load(reader: Reader) -> Reach:
    """What is right of the settings; the reader has what is wrong."""
    vxlan, manage_snat = _vxlan(reader)
    static_routes = reader.value(_ROUTES)
    if static_routes and any(reader.text(name) for name in _VXLAN):
        reader.problem("pods are reached by static routes or by VxLAN, not by both", _ROUTES, *_VXLAN)
    return Reach(vxlan, manage_snat, static_routes)


def _vxlan(reader: Reader) -> tuple[Setup | None, bool]:
    """Both addresses or none, and f5-manage-snat. Source: f5-router.md 1.1, the original's fifth check."""
    manage_snat = reader.value("f5-manage-snat")
    address, gateway = (reader.value(name) for name in _VXLAN)
    given = [bool(reader.text(name)) for name in _VXLAN]
    if given[0] != given[1]:
        reader.problem("For VxLAN setup, both internal-address and gateway-cidr must be specified", *_VXLAN)
    if not any(given) and manage_snat:
        reader.warn("not used: it is part of VxLAN, which is not configured", "f5-manage-snat")
    if not (address and gateway):
        return None, manage_snat
    if address == gateway.partition("/")[0]:
        reader.problem("they are the same address: one is of the Nodes' network, one of the pods'", *_VXLAN)
    return Setup(address, gateway), manage_snat
