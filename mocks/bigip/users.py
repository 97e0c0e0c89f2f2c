"""Accounts of the device: who may log in, with which role, and who has a shell (bigip-behaviour.md A4)."""

from __future__ import annotations

from mocks.bigip import refusals, versions
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.rendering import ROOT, suffix
from mocks.bigip.store import Item, Key, Store
from mocks.bigip.tokens import NO_ACCESS, User

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
