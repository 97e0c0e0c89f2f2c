"""Serves health, metrics and the status page of a running controller over HTTP."""

import ipaddress
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from f5router.app.controller import Controller
from f5router.app.status_source import StatusSource
from f5router.config.config import Config
from f5router.monitoring.connections import Contexts, Listeners
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.status_api import StatusAPI


@contextmanager
def serve(config: Config, controller: Controller, stop: threading.Event) -> Iterator[Server | None]:
    """Serve inside a `with`, if the settings ask for it.

    Raises: ConfigError: the address, or a file of the certificate, cannot be used.
    """
    if config.listen is None:
        yield None
        return
    health, monitor = controller.monitor.health, controller.monitor
    health.stopping = stop.is_set
    source = StatusSource(controller)
    listeners = Listeners(lambda: source.revision)
    monitor.history.on_change = listeners.wake
    pages = Pages(live=health.live, ready=health.ready, metrics=monitor.metrics.page,
                  login=config.metrics_login, status=StatusAPI(source, listeners),
                  local=is_loopback(config.listen.host))
    contexts = Contexts(config.metrics_tls) if config.metrics_tls else None
    with Server(config.listen, pages, contexts) as server:
        try:
            yield server
        finally:
            listeners.close()


def is_loopback(host: str) -> bool:
    """True if only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
