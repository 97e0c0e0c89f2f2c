"""Requests behind a header of the PROXY protocol."""

from tests.traffic import clients


def ask(address: clients.Address, host: str, header: bytes, *, secure: bool) -> clients.Seen:
    """Send a request behind a header. Args: secure: True for TLS behind it."""
    if secure:
        return clients.python(address, host, pieces=lambda hello: [header + hello])
    try:
        return clients.answer(clients.whole(address, header + clients.request_bytes(host)))
    except OSError as exc:
        return clients.Seen(error=repr(exc))
