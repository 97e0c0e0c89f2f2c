"""The fake BIG-IP in a process of its own, so that its CPU is not the router's."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mocks.bigip import FakeBigIP


@dataclass(frozen=True)
class Fake:
    """Where it is and what it has used."""

    pid: int
    address: str
    username: str
    password: str
    ca_file: str
    control: str
    """URL of the data plane's control port; empty without one."""

    def cpu_s(self) -> float:
        """CPU seconds since its start, user and system."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def bigip_process(*, dataplane: bool = False, call_s: float = 0.0) -> Iterator[Fake]:
    """A fake with the two virtual servers of the documentation.

    dataplane: it also carries traffic. call_s: what each call takes besides the fake's own time.
    """
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, dataplane, call_s))
    process.start()
    try:
        yield Fake(process.pid, *here.recv())
    finally:
        here.send("stop")
        process.join(10)


def add_virtuals(big: "FakeBigIP") -> None:
    """Make what docs/guide.md asks an administrator for."""
    big.put_object("ltm/profile/client-ssl", {
        "name": "default", "partition": "Common", "defaultsFrom": "/Common/clientssl",
        "sniDefault": "true",
    })
    snat = {"sourceAddressTranslation": {"type": "automap"}}
    big.add_virtual("/Common/ose-vserver", "10.0.0.1:80", **snat)
    big.add_virtual("/Common/https-ose-vserver", "10.0.0.1:443",
                    profiles=("/Common/tcp", "/Common/http", "/Common/default"), **snat)


def _serve(pipe, dataplane: bool, call_s: float) -> None:
    from mocks.bigip import FakeBigIP
    from mocks.bigip.dataplane.control import Control

    with FakeBigIP(dataplane=dataplane) as big, ExitStack() as stack:
        control = stack.enter_context(Control(big.dataplane)).url if dataplane else ""
        add_virtuals(big)
        if call_s:
            big.inject("delay", times=None, seconds=call_s)
        pipe.send((big.address, big.username, big.password, str(big.ca_file), control))
        pipe.recv()
