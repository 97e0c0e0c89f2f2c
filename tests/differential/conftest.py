"""The same cluster behind both routers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from f5router.config.options import OPTIONS
from tests.differential.haproxy import HAProxy
from tests.differential.haproxy_config import Endpoint
from tests.traffic.conftest import DEFAULT, Site

Address = tuple[str, int]


@dataclass(frozen=True)
class Router:
    """Where a router listens."""

    http: Address
    https: Address


@dataclass(frozen=True)
class Pair:
    """Both routers with the same Routes and pods."""

    haproxy: Router
    ours: Router
    site: Site
    process: HAProxy

    def both(self, ask: Callable[[Router], object]) -> tuple[object, object]:
        """Return what a client sees of HAProxy's router and of ours."""
        return ask(self.haproxy), ask(self.ours)


def endpoints_of(slices: Iterable[dict]) -> dict[tuple[str, str], tuple[Endpoint, ...]]:
    """Return the ready endpoints by namespace and name of the Service."""
    by_service: dict[tuple[str, str], tuple[Endpoint, ...]] = {}
    for slice_ in slices:
        key = slice_["metadata"]["namespace"], slice_["metadata"]["labels"]["kubernetes.io/service-name"]
        by_service[key] = by_service.get(key, ()) + tuple(
            Endpoint(address, port["port"], port["name"]) for endpoint in slice_["endpoints"] or ()
            for address in endpoint["addresses"] for port in slice_["ports"] or ())
    return by_service


def flags_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the flags of our router that say the same as variables. Raises: KeyError: there is none."""
    by_variable = {option.env: option.name.replace("-", "_") for option in OPTIONS.values()}
    return {by_variable[name]: text for name, text in variables.items()}


@pytest.fixture(scope="module")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Pair]]:
    """Makes a Pair of a function that applies a cluster to a Site; flags are those of our router.

    Args:
        refused: names of the Routes that our router does not admit; HAProxy's does.
        variables: of the environment, for both routers.
    """
    with ExitStack() as stack:
        started: list[Site] = []

        def make(build: Callable[[Site], None], *, refused: Iterable[str] = (),
                 variables: Mapping[str, str] | None = None, **flags: str) -> Pair:
            folder = tmp_path_factory.mktemp("pair")
            site = Site(stack, folder)
            started.append(site)
            build(site)
            assert site.converge(**flags_of(variables or {}), **flags) == []
            routes = site.kube.list("Route")
            assert {route["metadata"]["name"] for route in routes if site.admitted(
                route["metadata"]["namespace"], route["metadata"]["name"]).get("status") != "True"
            } == set(refused)
            default = (variables or {}).get("DEFAULT_CERTIFICATE") or DEFAULT.certificate + DEFAULT.key
            haproxy = HAProxy(stack, folder, routes, endpoints_of(site.kube.list("EndpointSlice")),
                              site.pods, default, variables or {})
            return Pair(Router(haproxy.http, haproxy.https), Router(site.http, site.https), site,
                        haproxy)

        yield make
        assert [site.faults() for site in started] == [[]] * len(started)
