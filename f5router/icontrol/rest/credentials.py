"""Credentials of requests: a token, or user name and password with each."""

import base64
import html
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from f5router.icontrol.settings import Login
from f5router.model.json_types import JSON

DEFAULT_LIFE_S = 1200
LONGEST_LIFE_S = 36000


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A login token."""

    value: str = field(repr=False)
    renew_at: float
    """Second of the clock from which on it is replaced."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers that authenticate a request."""
        return {"X-F5-Auth-Token": self.value}


@dataclass(frozen=True, slots=True)
class Basic:
    """User name and password with every request."""

    login: Login

    @property
    def value(self) -> str:
        """User name and password as they are sent."""
        return base64.b64encode(f"{self.login.username}:{self.login.password}".encode()).decode()

    @property
    def headers(self) -> dict[str, str]:
        """Headers that authenticate a request."""
        return {"Authorization": f"Basic {self.value}"}


def token_life_s(item: JSON) -> float:
    """Return the lifetime of a token from the token object of a login's reply.

    The device's clock may be wrong, so only the difference of its two times counts. If that is not possible
    as a lifetime, "timeout" (seconds; string or number) counts, then 1200.
    """
    lives: tuple[Callable[[], float], ...] = (
        lambda: (int(item["expirationMicros"]) - int(item["lastUpdateMicros"])) / 1e6,
        lambda: float(item["timeout"]))
    for life in lives:
        try:
            if 0 < (life_s := life()) <= LONGEST_LIFE_S:
                return life_s
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return DEFAULT_LIFE_S


def spellings(*logins: Login | None) -> tuple[str, ...]:
    """Return the passwords as a device may echo them, longest first.

    That is plain, in JSON, in HTML, in a URL, and as basic authentication.
    """
    forms: set[str] = set()
    for login in filter(None, logins):
        password = login.password
        escaped = (json.dumps(password)[1:-1], json.dumps(password, ensure_ascii=False)[1:-1])
        forms |= {Basic(login).value, password, *escaped, html.escape(password), quote(password, safe="")}
    return tuple(sorted((form for form in forms if form), key=len, reverse=True))
