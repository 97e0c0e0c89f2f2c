"""Objects of the security modules that a virtual server may refer to: bot defense, DoS, firewall, their logs.

A firewall policy has rules, which act (`dataplane.firewall`). Only the names of the others matter here: no
public source says by what they judge a client. A module that is not provisioned has none. Sources:
F5Networks/f5-ansible, bigip_virtual_server and bigip_firewall_policy (the REST paths and the properties of a
virtual server); techdocs.f5.com, BIG-IP ASM, "Configuring Bot Defense" (with ASM, from 14.1). That the rules
of a policy are a property of it, and not a collection below it, is a simplification.
"""

from __future__ import annotations

from mocks.bigip import refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.store import Item, Key, Store
from mocks.bigip.versions import Version

BOT_DEFENSE, DOS = "security/bot-defense/profile", "security/dos/profile"
FIREWALL, LOG = "security/firewall/policy", "security/log/profile"


class SecurityObject(Kind):
    """Something that exists while a module is provisioned."""

    def __init__(self, url: str, word: str, modules: tuple[str, ...], group: str,
                 since: Version = (), schema_url: str = "security") -> None:
        self.url, self.word, self._modules, self._group, self.since = url, word, modules, group, since
        self.schema_url = schema_url

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        super().check_new(store, key, body)
        if not any(store.get("sys/provision", module).fields["level"] != "none" for module in self._modules):
            # The words of a recorded refusal (bigip-behaviour.md A7).
            raise refusals.rest(
                "One of the following features must be licensed/provisioned for the URI "
                f"{self.url} : {', '.join(self._modules)}")

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users(self._group, item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")


def kinds() -> list[Kind]:
    """Return all of them."""
    return [
        SecurityObject(BOT_DEFENSE, "Bot Defense Profile", ("asm", "dos"), "profile", (14, 1)),
        SecurityObject(DOS, "DoS Profile", ("afm", "asm", "dos"), "profile"),
        SecurityObject(FIREWALL, "Firewall Policy", ("afm",), "firewall policy", schema_url=FIREWALL),
        SecurityObject(LOG, "Security Log Profile", ("afm", "asm", "dos"), "security log profile"),
    ]
