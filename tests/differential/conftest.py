"""The same cluster behind both routers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from f5router.config.options import OPTIONS
from tests.differential.haproxy import HAProxy
from tests.differential.haproxy_cluster import admitted, default_certificate, endpoints_of
from tests.traffic.conftest import DEFAULT, Site

Address = tuple[str, int]
OF_THE_VIRTUAL_SERVERS = "ROUTER_IP_V4_V6_MODE"
"""A variable that our router leaves to their administrator."""


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

    def both_at_once(self, ask: Callable[[Router], object]) -> tuple[object, object]:
        """As `both`, for what takes seconds of silence and looks at nothing that both share."""
        with ThreadPoolExecutor(1) as other:
            theirs = other.submit(ask, self.haproxy)
            ours = ask(self.ours)
            return theirs.result(), ours


def flags_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the flags of our router that say the same as variables. Raises: KeyError: there is none."""
    by_variable = {option.env: option.name.replace("-", "_") for option in OPTIONS.values()}
    return {by_variable[name]: text for name, text in variables.items() if name != OF_THE_VIRTUAL_SERVERS}


@pytest.fixture(scope="module")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Pair]]:
    """Makes a Pair of a function that applies a cluster to a Site; flags are those of our router.

    Args:
        refused: names of the Routes that our router does not admit; HAProxy's does.
        variables: of the environment, for both routers.
        log: where HAProxy sends its access log; "" for none.
        is_own: True for virtual servers that our router creates.
    """
    with ExitStack() as stack:
        started: list[Site] = []

        def make(build: Callable[[Site], None], *, refused: Iterable[str] = (),
                 variables: Mapping[str, str] | None = None, log: str = "", is_own: bool = False,
                 **flags: str) -> Pair:
            folder, variables = tmp_path_factory.mktemp("pair"), variables or {}
            ipv6 = variables.get(OF_THE_VIRTUAL_SERVERS) == "v6"
            address = "2001:db8::1" if ipv6 else "10.0.0.1"
            site = Site(stack, folder, address="" if is_own else address)
            started.append(site)
            if is_own:
                flags["f5_vserver_address"] = address
            build(site)
            assert site.converge(**flags_of(variables), **flags) == []
            routes = site.kube.list("Route")
            theirs = admitted(routes, site.kube.list("Secret"), variables)
            names = {route["metadata"]["name"] for route in theirs}
            assert {route["metadata"]["name"] for route in routes if site.admitted(
                route["metadata"]["namespace"], route["metadata"]["name"]).get("status") == "True"
            } == names - set(refused)
            haproxy = HAProxy(
                stack, folder, theirs,
                endpoints_of(site.kube.list("Service"), site.kube.list("EndpointSlice")), site.pods,
                default_certificate(variables) or DEFAULT.certificate + DEFAULT.key,
                {**variables, **({"ROUTER_SYSLOG_ADDRESS": log} if log else {})})
            return Pair(Router(haproxy.http, haproxy.https), Router(site.http, site.https), site,
                        haproxy)

        yield make
        assert [site.faults() for site in started] == [[]] * len(started)
