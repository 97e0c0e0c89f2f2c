"""Accounts, their roles and how they log in: basic authentication and tokens (bigip-behaviour.md A4)."""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import secrets
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import refusals, versions
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.refusals import Refusal
from mocks.bigip.rendering import ROOT, suffix
from mocks.bigip.store import Item, Key, Store
from mocks.bigip.versions import Version

LIMIT = 100
"""Live tokens of one user (from 13.0 on)."""
LIFE_S = 1200
LONGEST_S = 36000
_LETTERS = string.ascii_uppercase + string.digits

NO_ACCESS = "no-access"
READERS = frozenset(("guest", "operator", "auditor"))
"""Roles that may read all but write nothing here."""


@dataclass
class User:
    name: str
    password: str = field(repr=False)
    role: str = "admin"


@dataclass
class Token:
    """start: seconds of the clock at login; life_s counts from there (bigip-behaviour.md A4)."""

    name: str
    user: str
    start: float
    life_s: int = LIFE_S
    address: str = "127.0.0.1"
    expired: bool = False

    def shown(self) -> dict[str, Any]:
        started = datetime.datetime.fromtimestamp(self.start, datetime.UTC)
        micros = int(self.start * 1e6)
        return {
            "token": self.name,
            "name": self.name,
            "userName": self.user,
            "authProviderName": "tmos",
            "user": {"link": f"https://localhost/mgmt/shared/authz/users/{self.user}"},
            "timeout": self.life_s,
            "startTime": started.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000",
            "address": self.address,
            "partition": "[All]",
            "generation": 1,
            "lastUpdateMicros": micros,
            "expirationMicros": micros + int(self.life_s * 1e6),
            "kind": "shared:authz:tokens:authtokenitemstate",
            "selfLink": f"https://localhost/mgmt/shared/authz/tokens/{self.name}",
        }


class Tokens:
    """Tokens of a device's users. clock: seconds since the epoch. find: a user by name."""

    def __init__(
        self, version: Version, clock: Callable[[], float], find: Callable[[str], User | None]
    ) -> None:
        self.version = version
        self.clock = clock
        self._find = find
        self._live: dict[str, Token] = {}

    def clear(self) -> None:
        self._live.clear()

    def expire(self) -> None:
        for token in self._live.values():
            token.expired = True

    def user_of(self, headers: Any, path: str, sender: str) -> User:
        """The caller. Raises: Refusal: HTML 401 of Apache or JSON 401 of restjavad."""
        name = headers.get("X-F5-Auth-Token")
        if name:
            return self._by_token(name)
        basic = headers.get("Authorization", "")
        if not basic.startswith("Basic "):
            raise unauthorized()
        try:
            user, _, password = base64.b64decode(basic[6:], validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise unauthorized() from None
        return self._checked(user, password, unauthorized())

    def _checked(self, name: str, password: str, refusal: Refusal) -> User:
        user = self._find(name)
        if user is None or not secrets.compare_digest(user.password.encode(), password.encode()):
            raise refusal
        return user

    def _by_token(self, name: str) -> User:
        token = self._live.get(name)
        if token is None:
            raise refusals.java(401, "X-F5-Auth-Token does not exist.")
        if self._is_over(token):
            raise refusals.java(401, "X-F5-Auth-Token has expired.")
        user = self._find(token.user)
        if user is None:  # deleted since
            raise refusals.java(401, "X-F5-Auth-Token does not exist.")
        return user

    def live(self) -> list[Token]:
        """Tokens that are good now."""
        return [token for token in self._live.values() if not self._is_over(token)]

    def _is_over(self, token: Token) -> bool:
        return token.expired or self.clock() >= token.start + token.life_s

    def login(self, body: Any, address: str) -> dict[str, Any]:
        """POST /mgmt/shared/authn/login. Raises: Refusal: 401, or 400 at the limit."""
        if not isinstance(body, dict):
            raise refusals.java(400, "username and password must not be null in the Basic Authentication")
        user = self._checked(
            str(body.get("username")), str(body.get("password")), refusals.java(401, "Authentication failed.")
        )
        live = [token for token in self.live() if token.user == user.name]
        if len(live) >= LIMIT and self.version >= versions.TOKEN_LIMIT:
            raise refusals.java(400, f"user {java_uuid(user.name)} has reached maximum active login tokens")
        token = Token(
            "".join(secrets.choice(_LETTERS) for _ in range(26)), user.name, self.clock(), address=address
        )
        self._live[token.name] = token
        return {
            "username": user.name,
            "loginProviderName": body.get("loginProviderName", "tmos"),
            "token": token.shown(),
        }

    def answer(self, method: str, name: str | None, body: Any, user: User) -> dict[str, Any] | None:
        """/mgmt/shared/authz/tokens[/T]: GET, PATCH timeout, DELETE. The list's form is inferred."""
        if name is None:
            return self._all(method, user)
        token = self._live.get(name)
        if token is None or self._is_over(token):
            raise refusals.java(404, f"No entry found for key {name}")
        if token.user != user.name:
            raise refusals.java(400, f"user {user.name} is not the owner of the token")
        if method == "DELETE":
            del self._live[name]
            return token.shown()
        if method == "PATCH":
            self._extend(token, body)
        return token.shown()

    def _all(self, method: str, user: User) -> dict[str, Any]:
        mine = [token for token in self._live.values() if token.user == user.name]
        if method == "DELETE":
            for token in mine:
                del self._live[token.name]
            mine = []
        return {
            "items": [token.shown() for token in mine],
            "generation": 1,
            "kind": "shared:authz:tokens:authtokencollectionstate",
            "selfLink": "https://localhost/mgmt/shared/authz/tokens",
        }

    def _extend(self, token: Token, body: Any) -> None:
        try:
            life = int(body["timeout"])
        except (TypeError, KeyError, ValueError):
            raise refusals.java(400, "Auth-token timeout must be a number") from None
        if life > LONGEST_S:
            raise refusals.java(406, f"Auth-token absolute timeout ({LONGEST_S} seconds) exceeded")
        token.life_s = life


def unauthorized() -> Refusal:
    return Refusal(401, "", 0, "html")


def java_uuid(name: str) -> uuid.UUID:
    """Java's UUID.nameUUIDFromBytes: version 3 without a name space."""
    return uuid.UUID(bytes=hashlib.md5(name.encode()).digest(), version=3)


def check_role(user: User, method: str, path: str, *, version: Version, sender: str) -> None:
    """Refuse what a role may not do (bigip-behaviour.md A4). Raises: Refusal: 401 by path, 400 by object.

    Uploads are for administrators (f5-ansible#1611, #2298); util is not documented: the strict way.
    """
    if user.role == "admin":
        return
    on_disk = path.startswith(("/mgmt/shared/file-transfer/", "/mgmt/tm/util/"))
    if on_disk or version < versions.LESSER_ROLES or user.role == NO_ACCESS:
        raise role_refused(user.name, method, path, sender)
    if method != "GET" and user.role in READERS:
        words = path.removeprefix("/mgmt/tm/").split("/")
        verb = "create" if method == "POST" else "modify"
        raise refusals.mcpd(
            "01070822",
            f"Access Denied: user ({user.name}) does not have {verb} access to object "
            f"({words[1] if len(words) > 1 else words[0]})",
        )


def role_refused(name: str, method: str, path: str, sender: str) -> Refusal:
    return refusals.java(
        401,
        f"Authorization failed: user=https://localhost/mgmt/shared/authz/users/{name} "
        f"resource={path} verb={method} uri:http://localhost:8100{path} "
        f"referrer:{sender} sender:{sender}",
    )


URL = "auth/user"
HASHED = "$6$redacted$redacted"
"""Shown for every password, as the recordings have it."""
EVERYWHERE = "all-partitions"
PRIMARY = "admin"
"""May use the shell whatever its property says."""


class Account(Kind):
    url = URL
    word = "user"
    partitioned = False
    counts_in_folder = False

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        for access in fields.get("partitionAccess", ()):
            if not isinstance(access, dict) or not {"name", "role"} <= access.keys():
                raise refusals.tmsh('invalid property value "partition-access"')
        if "password" in fields:
            fields["encryptedPassword"] = HASHED
        return {name: value for name, value in fields.items() if name != "password"}

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "password" in body:
            store.put(self.url, item.key, item.fields, {**item.hidden, "password": str(body["password"])})

    def check_unused(self, store: Store, item: Item) -> None:
        if item.name == PRIMARY:
            raise refusals.configuration_error(f"The user ({PRIMARY}) may not be deleted")

    def read(self, store: Store, item: Item) -> Body:
        shown = []
        for access in item.fields.get("partitionAccess", ()):
            link = f"{ROOT}auth/partition/{access['name']}{suffix(store)}"
            referenced = {"nameReference": {"link": link}} if store.version >= versions.REFERENCES else {}
            shown.append({"name": access["name"], "role": access["role"], **referenced})
        return {**item.fields, "partitionAccess": shown} if shown else item.fields


def add(store: Store, name: str, password: str, role: str, **fields: str) -> None:
    """An account, or a new password and role for one."""
    access = [{"name": EVERYWHERE, "role": role}]
    fields = {"description": name, **fields, "encryptedPassword": HASHED, "partitionAccess": access}
    store.put(URL, (name,), fields, {"password": password})


def find(store: Store, name: str) -> User | None:
    """Find who may log in by a password, with the first of the roles."""
    item = store.get(URL, name)
    if item is None or "password" not in item.hidden:
        return None
    roles = [access["role"] for access in item.fields.get("partitionAccess", ())]
    return User(name, item.hidden["password"], roles[0] if roles else NO_ACCESS)


def shell_password(store: Store, name: str) -> str | None:
    """Password of an account that may use the Advanced Shell."""
    item, user = store.get(URL, name), find(store, name)
    allowed = item is not None and (name == PRIMARY or item.fields.get("shell") == "bash")
    return user.password if user and allowed else None
