"""Requests, and outcomes that are compared between routers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.differential.conftest import Router
from tests.traffic import clients


@dataclass(frozen=True)
class Outcome:
    """A client's view of an answer, without the pages that routers write themselves."""

    status: int = 0
    """0: the connection ended without an answer."""
    service: str = ""
    """Namespace and name of the Service whose pod answered; "" if none did."""
    pod_tls: bool = False
    """The pod was asked over TLS."""
    target: str = ""
    """Path and query that the pod got."""
    location: str = ""
    certificate: str = ""
    """Common name of the certificate that the client was shown."""


@dataclass(frozen=True)
class Request:
    """A request, or a raw one; port 443 with secure or a name for TLS."""

    host: str | None = None
    path: str = "/"
    secure: bool = False
    sni: str | None = ""
    """Name in TLS: "" for the host, None for none."""
    how: dict = field(default_factory=dict)
    """Arguments of clients.request_bytes."""
    source: str = ""
    """Address of the client, in 127.0.0.0/8."""
    data: bytes = b""
    """Sent as it is, without TLS."""

    def send(self, router: Router) -> clients.Seen:
        if self.data:
            return clients.raw(router.http, self.data)
        if self.secure:
            return clients.python(router.https, self.host, self.path, sni=self.sni, source=self.source,
                                  **self.how)
        return clients.plain(router.http, self.host, self.path, source=self.source, **self.how)

    def outcome(self, router: Router) -> Outcome:
        return outcome(self.send(router))


def in_turn(router: Router, host: str, requests: Iterable[tuple[str, Iterable[str]]], *,
            secure: bool) -> list[clients.Seen]:
    """Return the answers to paths and headers of one host, on one connection as long as it lasts."""
    left = [clients.request_bytes(host, path, headers=headers, close=False) for path, headers in requests]
    answers: list[clients.Seen] = []
    while left:
        seen = clients.several(router.https if secure else router.http, *left, sni=host if secure else None)
        assert seen, "no answer"
        answers, left = [*answers, *seen], left[len(seen):]
    return answers


def outcome(seen: clients.Seen) -> Outcome:
    """Return what counts of an answer."""
    pod = seen.pod
    if not pod:
        return Outcome(seen.status, location=seen.location, certificate=seen.certificate)
    service = f"{pod['namespace']} {pod['pod'].rpartition('-')[0]}"
    return Outcome(seen.status, service, pod["tls"] is not None, pod["target"], seen.location,
                   seen.certificate)


def short(outcome: Outcome) -> str:
    """Return an outcome as docs/haproxy-differences.md writes it."""
    if outcome.service:
        return f"`{outcome.service.rpartition(' ')[2]}`"
    if outcome.location:
        return f"{outcome.status} to `{outcome.location}`"
    return str(outcome.status) if outcome.status else "connection reset"
