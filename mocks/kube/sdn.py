"""OpenShift SDN's master, as far as HostSubnets without a Node are concerned, and their validation.

A HostSubnet with the annotation assign-subnet is deleted and created again: with a subnet and a new uid,
without that annotation, and with the fixed VNID if that is one. Between the two there is none. Not here:
HostSubnets of Nodes, which a test applies itself.

Sources: openshift/origin 3.11 pkg/network/master/subnets.go and subnet_allocator.go,
pkg/network/apis/network/validation/validation.go; OpenShift 3.11 documentation,
"Using the F5 Router Plug-in".
"""

import ipaddress
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from .kinds import Kind
from .objects import Objects
from .store import Change, Record, Subscription

log = logging.getLogger(__name__)

ASSIGN = "pod.network.openshift.io/assign-subnet"
FIXED_VNID = "pod.network.openshift.io/fixed-vnid-host"
MAX_VNID = (1 << 24) - 1

_OCTET = "([0-9]|[0-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
_ADDRESS = rf"({_OCTET}\.){{3}}{_OCTET}"
_SCHEMA = {"host": "[a-z0-9.-]+", "hostIP": _ADDRESS, "subnet": f"{_ADDRESS}/([0-9]|[12][0-9]|3[0-2])"}

DEFAULT_NETWORK = {
    "metadata": {"name": "default"},
    "network": "10.128.0.0/14",
    "hostsubnetlength": 9,
    "serviceNetwork": "172.30.0.0/16",
    "pluginName": "redhat/openshift-ovs-multitenant",
    "clusterNetworks": [{"CIDR": "10.128.0.0/14", "hostSubnetLength": 9}],
}
"""ClusterNetwork of a stock OpenShift 3.11."""

STOP_LIMIT_S = 60

Cause = tuple[str, str, str]
"""(reason, message, field)"""


def hostsubnet_faults(data: Mapping, current: Mapping | None) -> list[Cause]:
    """Why the API server refuses to create, or with current to update, a HostSubnet."""
    name, subnet = data["metadata"]["name"], data.get("subnet") or ""
    faults = []
    if data.get("host") != name:
        faults.append(_bad(data.get("host", ""), f'must be the same as metadata.name: "{name}"', "host"))
    if not subnet and ASSIGN not in _annotations(data):
        faults.append(_bad(subnet, "field cannot be empty", "subnet"))
    if subnet and _network(subnet) is None:
        faults.append(_bad(subnet, f"invalid CIDR address: {subnet}", "subnet"))
    try:
        ipaddress.ip_address(data.get("hostIP", ""))
    except ValueError:
        faults.append(_bad(data.get("hostIP", ""), "invalid IP address", "hostIP"))
    if current and subnet != (current.get("subnet") or ""):
        faults.append(_bad(subnet, "cannot change the subnet lease midflight.", "subnet"))
    return faults


def hostsubnet_schema_faults(data: Mapping, current: Mapping | None) -> list[Cause]:
    """Why a HostSubnet does not fit the schema of OpenShift 4's custom resource: it needs all three fields.

    Source: openshift/api network/v1/types.go (kubebuilder markers), and the custom resource made of it.
    """
    faults = []
    for name, pattern in _SCHEMA.items():
        if name not in data:
            faults.append(("FieldValueRequired", "Required value", name))
        elif not re.fullmatch(pattern, str(data[name])):
            shown = f'Invalid value: "{data[name]}": {name} in body should match \'^{pattern}$\''
            faults.append(("FieldValueInvalid", shown, name))
    return faults


def _bad(value: object, why: str, where: str) -> Cause:
    return ("FieldValueInvalid", f'Invalid value: "{value}": {why}', where)


def subnets(network: ipaddress.IPv4Network, host_bits: int) -> Iterator[ipaddress.IPv4Network]:
    """Subnets of a cluster network, in the order in which the master gives them away.

    Where an octet is shared by subnet and host, the subnets with 0 in the shared bits come first:
    10.128.0.0/23, 10.129.0.0/23, 10.130.0.0/23, 10.131.0.0/23, then 10.128.2.0/23.
    """
    bits = 32 - network.prefixlen - host_bits
    shared = -host_bits % 8
    if bits <= shared:
        shared = 0
    for low in range(1 << shared):
        for high in range(1 << (bits - shared)):
            start = int(network.network_address) + (((high << shared) | low) << host_bits)
            yield ipaddress.IPv4Network((start, 32 - host_bits))


class SdnMaster:
    """A thread that answers to the HostSubnets of the store between start and stop."""

    def __init__(self, objects: Objects, kinds: Sequence[Kind], *, delay_s: float):
        """delay_s passes before the deletion, and again before the creation."""
        by_name = {kind.kind: kind for kind in kinds}
        self._hostsubnets, self._networks = by_name.get("HostSubnet"), by_name.get("ClusterNetwork")
        self._objects, self._store, self._delay_s = objects, objects.store, delay_s
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._jobs: list[tuple[float, Callable[[], None]]] = []
        self._taken: set[ipaddress.IPv4Network] = set()
        self._last: ipaddress.IPv4Network | None = None

    @property
    def subnets(self) -> set[str]:
        """Subnets that are given away."""
        return {str(subnet) for subnet in self._taken}

    def start(self) -> None:
        """Create the ClusterNetwork if there is none, then follow the HostSubnets."""
        if self._hostsubnets is None or self._thread:
            return
        with self._store.lock:
            if self._store.get(self._networks, "", "default") is None:
                self._objects.create(self._networks, DEFAULT_NETWORK)
            self._stopping, self._jobs, self._last = False, [], None
            self._taken = set()
            for record in self._store.records(self._hostsubnets):
                self._see(record)
            following = self._store.subscribe(self._hostsubnets, self._store.revision, lambda: None)
        self._thread = threading.Thread(target=self._run, args=(following,), name="fake-sdn", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave everything as it is; steps not taken yet are forgotten."""
        if self._thread is None:
            return
        with self._store.changed:
            self._stopping = True
            self._store.changed.notify_all()
        self._thread.join(STOP_LIMIT_S)
        self._thread = None

    def _run(self, following: Subscription) -> None:
        with self._store.changed:
            while not self._stopping:
                while following.pending:
                    self._follow(following.pending.popleft())
                now = time.monotonic()
                due = [job for job in self._jobs if job[0] <= now]
                self._jobs = [job for job in self._jobs if job[0] > now]
                for _, act in due:
                    act()
                if not following.pending:
                    next_at = min((at for at, _ in self._jobs), default=None)
                    self._store.changed.wait(None if next_at is None else max(0, next_at - now))
            self._store.unsubscribe(following)

    def _follow(self, change: Change) -> None:
        if change.after:
            self._see(change.after)
        elif ASSIGN not in _annotations(change.before.data):  # else the subnet is lost, as in reality
            self._taken.discard(_network(change.before.data.get("subnet")))

    def _see(self, record: Record) -> None:
        if (subnet := _network(record.data.get("subnet"))) is not None:
            self._taken.add(subnet)
        if ASSIGN in _annotations(record.data):
            self._later(lambda: self._take_down(record))

    def _later(self, act: Callable[[], None]) -> None:
        self._jobs.append((time.monotonic() + self._delay_s, act))

    def _take_down(self, asked: Record) -> None:
        current = self._store.get(*self._place(asked))
        if current is None or current.data["metadata"]["uid"] != asked.data["metadata"]["uid"]:
            return
        self._store.remove(current)
        self._later(lambda: self._put_up(current))

    def _put_up(self, asked: Record) -> None:
        name, host_ip = asked.key[1], asked.data.get("hostIP", "")
        if self._store.get(*self._place(asked)):
            return  # somebody was quicker
        if why := self._unfit(host_ip):
            log.warning("HostSubnet not created again: name=%s hostIP=%s why=%s", name, host_ip, why)
            return
        subnet = self._allocated()
        if subnet is None:
            log.warning("HostSubnet not created again: name=%s why=no subnets available", name)
            return
        metadata = {"name": name} | _kept(_annotations(asked.data))
        self._objects.create(self._hostsubnets, {
            "metadata": metadata, "host": name, "hostIP": host_ip, "subnet": str(subnet),
        })  # fmt: skip

    def _place(self, record: Record) -> tuple[Kind, str, str]:
        return self._hostsubnets, *record.key

    def _unfit(self, host_ip: str) -> str:
        """Why the master takes no Node of this address (NetworkInfo.ValidateNodeIP); empty if it does."""
        networks = [network for network, _ in self._ranges()]
        services = _network(self._network_object().get("serviceNetwork"))
        networks += [services] if services else []
        try:
            address = ipaddress.ip_address(host_ip)
        except ValueError:
            return "no address"
        inside = next((network for network in networks if address in network), None)
        return "loopback" if host_ip == "127.0.0.1" else f"in {inside}" if inside else ""

    def _allocated(self) -> ipaddress.IPv4Network | None:
        """The next free subnet after the last that was given away, of the first range that has one."""
        for network, host_bits in self._ranges():
            order = list(subnets(network, host_bits))
            start = order.index(self._last) + 1 if self._last in order else 0
            for subnet in order[start:] + order[:start]:
                if not any(subnet.overlaps(taken) for taken in self._taken):
                    self._taken.add(subnet)
                    self._last = subnet
                    return subnet
        return None

    def _ranges(self) -> list[tuple[ipaddress.IPv4Network, int]]:
        """Cluster networks with the bits of a host, as the master of any version finds them."""
        data = self._network_object()
        listed = data.get("clusterNetworks") or ()
        entries = [(entry.get("CIDR"), entry.get("hostSubnetLength")) for entry in listed]
        entries = entries or [(data.get("network"), data.get("hostsubnetlength"))]
        return [(_network(cidr), length) for cidr, length in entries if _network(cidr) and length]

    def _network_object(self) -> Mapping:
        record = self._store.get(self._networks, "", "default")
        return record.data if record else {}


def _annotations(data: Mapping) -> Mapping:
    return data["metadata"].get("annotations") or {}


def _kept(annotations: Mapping) -> dict:
    """Metadata of the HostSubnet that is created again: the VNID if it is one."""
    text = annotations.get(FIXED_VNID, "")
    if not (text.isascii() and text.isdecimal() and int(text) <= MAX_VNID):
        return {}
    return {"annotations": {FIXED_VNID: str(int(text))}}


def _network(text: object) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text) if "/" in str(text) else None
    except ValueError:
        return None
