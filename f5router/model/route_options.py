"""Settings of one Route besides its spec: values, checked and in one unit."""

from dataclasses import dataclass

from f5router.model.health_checks import HealthCheck
from f5router.model.path_rewrite import PathRewrite


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """Options of a Route; each default means "as the router is configured"."""

    balance: str = ""
    """roundrobin, leastconn, random, source or balancing.BY_NODE."""
    pod_connections: int = 0
    """Connections at a time to each pod; 0 for no limit."""
    most_connections: int = 0
    """Connections at a time of one client, which the one with this number is refused; 0 for any number."""
    connection_rate: int = 0
    """Likewise, connections of one client in 3 seconds."""
    request_rate: int = 0
    """Requests of one client in 10 seconds; 0 for any number."""
    sources: tuple[str, ...] = ()
    """CIDRs of the clients that may connect, sorted; empty: all clients may."""
    timeout_ms: int = 0
    """Milliseconds to wait for a pod's response; for passthrough, as tunnel_timeout_ms."""
    tunnel_timeout_ms: int = 0
    """Milliseconds without data on an upgraded or passed-through connection."""
    disable_cookies: bool = False
    """True if no session cookie keeps a client with a pod."""
    cookie_name: str = ""
    """Name of the session cookie."""
    same_site: str = ""
    """SameSite of the session cookie: Lax or Strict."""
    hsts: str = ""
    """Header Strict-Transport-Security of responses over TLS."""
    rewrite: PathRewrite | None = None
    """Rewriting of the path of requests."""
    app_root: str = ""
    """Path to which requests for / are redirected."""
    redirect_to: str = ""
    """URL to which all requests are redirected, in the place of pods; "" for none."""
    redirect_code: int = 0
    """Status of that redirect."""
    server_profile: str = ""
    """Full path of the server SSL profile that it names."""
    verify_pods: bool | None = None
    """True if TLS towards pods must be verified, False if it must not; None: where there is a CA for it."""
    health: tuple[HealthCheck, ...] = ()
    """Health checks, each for a path."""
    forwarded: str = ""
    """One of forwarded_headers.POLICIES."""
    request_actions: tuple[str, ...] = ()
    """Actions on the headers of requests, each as header_actions encodes it."""
    response_actions: tuple[str, ...] = ()
    """Likewise, of responses."""
    check_interval_ms: int = 0
    """Milliseconds between two health checks of a pod."""

    @property
    def rates(self) -> tuple[int, int, int]:
        """The limits of each client, in the order of a record in names.LIMITS_GROUP."""
        return self.most_connections, self.connection_rate, self.request_rate


DEFAULTS = RouteOptions()
