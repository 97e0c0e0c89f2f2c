"""Secrets that Gateways refer to, each with a stand-in that names it, so that it is read.

A listener without a valid Secret has no Route, but its Secret must be followed.
"""

from collections.abc import Iterable

from f5router.model import names
from f5router.model.cluster import Key, Route
from f5router.model.gateway import GATEWAY


class FollowedSecrets:
    """Not thread-safe."""

    def __init__(self) -> None:
        self._followed: dict[Key, dict[Key, Key]] = {}
        """By Gateway: Secrets by their stand-in."""
        self._users: dict[Key, Route | None] = {}

    def put(self, gateway: Key, secrets: Iterable[Key]) -> None:
        """Replace the Secrets of a Gateway."""
        wanted = {_stand_in(gateway, secret): secret for secret in secrets}
        known = self._followed.pop(gateway, {})
        if wanted:
            self._followed[gateway] = wanted
        self._users.update(dict.fromkeys(known.keys() - wanted.keys()))
        self._users.update((name, Route(name, tls_secret=secret)) for name, secret in wanted.items()
                           if name not in known)

    def take_users(self) -> dict[Key, Route | None]:
        """Return stand-ins that have changed since the last call, None for one that no Gateway needs."""
        users, self._users = self._users, {}
        return users


def _stand_in(gateway: Key, secret: Key) -> Key:
    return Key(gateway.namespace, names.virtual_route(GATEWAY, gateway.name, f"Secret {secret}"))
