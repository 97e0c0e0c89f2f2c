"""Kinds below sys/ that are neither files nor folders: provisioned modules, database variables, iApps."""

from __future__ import annotations

import re

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.store import Item, Key, Store

_RANGE = re.compile(r"^integer min:(\d+) max:(\d+)$")


class Given(Kind):
    """Objects that every device has: none can be created or deleted."""

    partitioned = False
    counts_in_folder = False
    deletable = False

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        raise refusals.tmsh("enter a valid option")


class Provision(Given):
    """A module of the device. On a real one a change restarts the daemons."""

    url = "sys/provision"
    word = "module"

    def initial(self, store: Store, key: Key) -> Body:
        return {**super().initial(store, key), "level": "nominal" if key == ("ltm",) else "none"}


MODULES = ("afm", "am", "apm", "asm", "avr", "dos", "fps", "gtm", "ilx", "lc", "ltm", "pem", "sslo", "swg",
           "urldb")  # fmt: skip
MODULES_16 = tuple(sorted({*MODULES, "cgnat"} - {"am"}))
"""Recorded on 14.1.2.1 and on 16.0.0."""


class Database(Given):
    """A variable of `sys db`; only its value can be changed (bigip-behaviour.md A8)."""

    url = "sys/db"
    word = "DB variable"
    ignored = frozenset(("defaultValue", "scfConfig", "valueRange"))

    def initial(self, store: Store, key: Key) -> Body:
        default, allowed = VARIABLES[key[0]]
        defaults = {"defaultValue": default, "value": default, "valueRange": allowed}
        return {**super().initial(store, key), **defaults}

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        value, allowed = str(fields["value"]), fields["valueRange"]
        limits = _RANGE.match(allowed)
        if limits:
            good = value.isdecimal() and int(limits[1]) <= int(value) <= int(limits[2])
        else:
            good = value in allowed.split()
        if not good:
            raise refusals.invalid_value("value", value)
        return fields


VARIABLES = {
    "bigd.tmm": ("disable", "disable enable"),
    "icrd.timeout": ("60", "integer min:30 max:600"),
    "iptunnel.configsync": ("enable", "disable enable"),
    "provision.cpu.afm": ("0", "integer min:0 max:100"),
    "provision.extramb": ("0", "integer min:0 max:8192"),
    "restjavad.timeout": ("60", "integer min:30 max:600"),
    "restjavad.useextramb": ("false", "false true"),
    "restnoded.timeout": ("60", "integer min:30 max:600"),
    "systemauth.disablebash": ("false", "false true"),
}
"""Name -> (default, range). The form and provision.cpu.afm: F5Networks/f5-ansible, test_bigip_sys_db.py;
systemauth.disablebash: F5Networks/f5-telemetry-streaming; iptunnel.configsync: F5's manual "BIG-IP TMOS:
Tunneling and IPsec", 14.1, Configuring Network Virtualization Tunnels; bigd.tmm: K85210713. Ranges of the
others are inferred. A device has hundreds more."""


class ApplicationService(Kind):
    """An iApp. The device has templates of iApps and the fake has none, so that none can be created."""

    url = "sys/application/service"
    word = "Application Service"
    required = ("template",)

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        self.check_folder(store, self.key_of(store, parent, body))
        if "template" not in body:
            raise refusals.missing("template")
        # the device's words are not known
        raise refusals.not_found("Application Template", names.full_path(str(body["template"]), "/Common"))
