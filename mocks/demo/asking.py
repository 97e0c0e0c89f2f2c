"""Requests through the BIG-IP, each by a curl command that anybody may type."""

import json
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mocks.demo.processes import DemoError, clean_environment
from mocks.demo.publications import ADMITTED
from mocks.demo.servers import HTTP_VIRTUAL, HTTPS_VIRTUAL, Lab
from mocks.demo.serving import REDIRECT, Row

LIMIT_S = 120
NOBODY = "nobody.example.com"
"""A host that no Route has."""
BREAK = "\n%{http_code} %{redirect_url}"
"""Text that curl adds to a response: status, and where a redirect leads."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command, and who has to answer it."""

    command: tuple[str, ...]
    expected: str

    def __str__(self) -> str:
        return shlex.join(self.command)


def requests(lab: Lab, rows: Iterable[Row]) -> Iterator[Request]:
    """One for each port of each Route that is served, and one that nobody serves."""
    for row in rows:
        serving = row.serving
        if serving.status != ADMITTED:
            continue
        host, slash, path = row.address.partition("/")
        service = f"{row.name.split('/')[0]}/{row.service}"
        if serving.port_80:
            by = "TLS" if serving.pods else "HTTP"
            answer = f"a pod of {service}, asked by {by}"
            if serving.port_80 == REDIRECT:
                answer = f"{row.redirect} https://{host}/{path}"
            yield Request(curl(lab, "http", host, slash + path), answer)
        if serving.port_443:
            by = "TLS" if serving.pods or row.kind.startswith("passthrough") else "HTTP"
            yield Request(curl(lab, "https", host, slash + path), f"a pod of {service}, asked by {by}")
    yield Request(curl(lab, "http", NOBODY, "/"), "503")


def curl(lab: Lab, scheme: str, host: str, path: str, *, virtual: str = "") -> tuple[str, ...]:
    """The command for a request. Args: virtual: the virtual server; "" for that of Routes."""
    address, port = lab.bigip.endpoint(virtual or (HTTP_VIRTUAL if scheme == "http" else HTTPS_VIRTUAL))
    authority = ("--cacert", str(lab.authorities_file)) if scheme == "https" else ()
    return ("curl", "-s", *authority, "--resolve", f"{host}:{port}:{address}",
            f"{scheme}://{host}:{port}{path or '/'}")


def ask(request: Request) -> str:
    """Run the command; who answered. Raises: DemoError: it failed, or somebody else answered."""
    process = subprocess.run([*request.command, "-w", BREAK, "--noproxy", "*"], env=clean_environment(),
                             capture_output=True, text=True, timeout=LIMIT_S)
    if process.returncode:
        raise DemoError(f"{request}\nended with exit status {process.returncode}")
    body, _, last = process.stdout.rpartition("\n")
    status, _, location = last.partition(" ")
    pod = json.loads(body) if status == "200" else None
    said = f"{status} {location}".strip()
    if pod:
        service = pod["pod"].rpartition("-")[0]
        said = f"a pod of {pod['namespace']}/{service}, asked by {'TLS' if pod['tls'] else 'HTTP'}"
    if said != request.expected:
        raise DemoError(f"{request}\nwas answered by {said}, not by {request.expected}")
    return f"{pod['pod']}, asked by {'TLS' if pod['tls'] else 'HTTP'}" if pod else said
