"""Settings by which the objects of the BIG-IP are made."""

from typing import Protocol, Self

from f5router.desired import route_tls
from f5router.model.client_tls import TLSFiles
from f5router.model.virtual_server import FrontEnd, FrontEndSet


class DesiredSettings(route_tls.PodTLSSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def further_front_ends(self) -> tuple[FrontEnd, ...]:
        """The front ends besides the one of these settings."""

    def with_front_ends(self, front_ends: FrontEndSet) -> Self: ...

    def of_front_end(self, front_end: FrontEnd) -> Self:
        """Return the settings for one of them."""

    def with_default_destination_ca(self, certificates: str) -> Self: ...

    @property
    def static_routes(self) -> bool: ...

    @property
    def closes_hosts(self) -> bool:
        """True if an Ingress may get the requests for hosts that nobody claims."""

    @property
    def static_route_networks(self) -> tuple[str, ...]:
        """CIDRs in which the Nodes' addresses lie that are gateways; () for the device's own networks."""

    @property
    def tls_files(self) -> TLSFiles: ...
