"""A REST server as the demo asks it."""

import json

import requests

API_TIMEOUT_S = 60.0


class Api:
    """A REST server as curl sees it.

    Args: auth: name and password. token: of the bearer.
    """

    def __init__(self, url: str, ca_file: str, *, auth: tuple[str, str] | None = None, token: str = ""):
        self.url = url
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify, self._session.auth = ca_file, auth
        if token:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str) -> dict:
        """Raises: requests.RequestException."""
        return self.call("GET", path)

    def call(self, method: str, path: str, body: object = None, *, content_type: str = "application/json"):
        """Raises: requests.RequestException."""
        reply = self._session.request(
            method, f"{self.url}{path}", timeout=API_TIMEOUT_S, headers={"Content-Type": content_type},
            data=None if body is None else json.dumps(body),
        )
        if reply.status_code >= 400:
            raise requests.HTTPError(f"{method} {path}: {reply.status_code} {reply.text[:300]}")
        return reply.json()
