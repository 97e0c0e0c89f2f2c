"""Log lines of a request-log profile: one for a request, one for its response, to a member of a pool.

Source: techdocs.f5.com, "BIG-IP Acceleration: Concepts", "Using the Request Logging Profile". Nothing puts a
syslog header in front: the template is the line. The words of a template that are not here are left as they
are, and are in `big.errors`.
"""

from __future__ import annotations

import dataclasses
import re
import socket
import time
from collections.abc import Callable

from mocks.bigip import selection
from mocks.bigip.dataplane.connection import Connection
from mocks.bigip.dataplane.http import Head
from mocks.bigip.matching import Unsupported
from mocks.bigip.quirks import Quirk

_WORD = re.compile(r"\$\{([^}]*)\}|\$([A-Z_0-9]+)")


class RequestLog:
    """The lines of one request, as the client sent it: policies and iRules change a copy.

    Attributes:
        begun: loop time of the request.
        status, reason, size: of the response; size: bytes of its body.
    """

    def __init__(self, flow: Connection, head: Head) -> None:
        self.flow, self.head = flow, dataclasses.replace(head, headers=list(head.headers))
        self._profile = flow.virtual.request_log or {}
        self.begun = flow.shared.clock.now()
        self.status, self.reason, self.size = 0, "", 0

    def requested(self) -> None:
        """The request came."""
        if self._profile.get("requestLogging") == "enabled":
            self._send("request")

    def responded(self, head: Head, size: int, *, own: bool = False) -> None:
        """The response went to the client. own: the device answered itself. size: bytes of the body."""
        if own and not self.flow.shared.store.has(Quirk.LOGS_OWN_RESPONSES):
            return
        self.status, self.reason, self.size = head.status, head.reason.decode("latin-1"), size
        if self._profile.get("responseLogging") == "enabled":
            self._send("response")

    def _send(self, kind: str) -> None:
        flow, profile = self.flow, self._profile
        tcp = profile[f"{kind}LogProtocol"] == "mds-tcp"
        line = self._expanded(str(profile[f"{kind}LogTemplate"])).encode()
        pool = str(profile[f"{kind}LogPool"])
        with flow.shared.store.lock:
            members = selection.members(flow.shared.store, pool) if pool != "none" else ()
        for member in members:
            address, _, port = member.rpartition("." if member.count(":") > 1 else ":")
            local = flow.shared.pods.log_port(address, int(port), tcp=tcp)
            if local is not None:
                with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as sock:
                    sock.connect(("127.0.0.1", local))
                    sock.send(line)
                return

    # -- templates ---------------------------------------------------------------------------------

    def _expanded(self, template: str) -> str:
        return "" if template == "none" else _WORD.sub(self._word, template)

    def _word(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            return (self.head.get(match[1].encode("latin-1")) or b"").decode("latin-1")
        make = _WORDS.get(match[2])
        if make is None:
            self.flow.shared.errors.append(Unsupported(f"word of a log template: {match[0]}"))
            return match[0]
        return str(make(self))

    def moment(self, form: str) -> str:
        """The device's time of day."""
        return time.strftime(form, time.gmtime(self.flow.shared.clock.time_of_day()))

    def elapsed_s(self) -> float:
        """Seconds since the request came."""
        clock = self.flow.shared.clock
        return (clock.now() - self.begun) * clock.speed

    def server(self) -> tuple[str, str]:
        """Address and port of the member."""
        member = self.flow.served.member
        address, _, port = (member or "").rpartition("." if (member or "").count(":") > 1 else ":")
        return address, port

    def request_line(self) -> str:
        """The first line of the request."""
        head = self.head
        return f"{head.method.decode()} {head.target.decode('latin-1')} HTTP/{head.version}"


_WORDS: dict[str, Callable[[RequestLog], object]] = {
    "CLIENT_IP": lambda log: log.flow.client[0],
    "CLIENT_PORT": lambda log: log.flow.client[1],
    "DATE_NCSA": lambda log: log.moment("%d/%b/%Y:%H:%M:%S +0000"),
    "DATE_DD": lambda log: log.moment("%d"),
    "DATE_MON": lambda log: log.moment("%b"),
    "DATE_YYYY": lambda log: log.moment("%Y"),
    "TIME_HMS": lambda log: log.moment("%H:%M:%S"),
    "TIME_MSECS": lambda log: f"{int(log.flow.shared.clock.time_of_day() * 1000) % 1000:03}",
    "TIME_OFFSET": lambda log: "+0000",
    "BIGIP_HOSTNAME": lambda log: log.flow.shared.store.unit.hostname,
    "DATE_HTTP": lambda log: log.moment("%a, %d %b %Y %H:%M:%S GMT"),
    "TIME_UNIX": lambda log: int(log.flow.shared.clock.time_of_day()),
    "HTTP_METHOD": lambda log: log.head.method.decode(),
    "HTTP_URI": lambda log: log.head.target.decode("latin-1"),
    "HTTP_PATH": lambda log: log.head.path.decode("latin-1"),
    "HTTP_QUERY": lambda log: log.head.query.decode("latin-1"),
    "HTTP_VERSION": lambda log: f"HTTP/{log.head.version}",
    "HTTP_REQUEST": lambda log: log.request_line(),
    "HTTP_STATCODE": lambda log: log.status or "",
    "HTTP_STATUS": lambda log: f"{log.status} {log.reason}".strip() if log.status else "",
    "RESPONSE_SIZE": lambda log: log.size,
    "RESPONSE_MSECS": lambda log: int(log.elapsed_s() * 1e3),
    "RESPONSE_USECS": lambda log: int(log.elapsed_s() * 1e6),
    "SERVER_IP": lambda log: log.server()[0],
    "SERVER_PORT": lambda log: log.server()[1],
    "VIRTUAL_IP": lambda log: log.flow.virtual.address,
    "VIRTUAL_PORT": lambda log: log.flow.virtual.port,
    "VIRTUAL_NAME": lambda log: log.flow.virtual.path,
    "VIRTUAL_POOL_NAME": lambda log: log.flow.served.pool or "",
    "NULL": lambda log: "",
}
