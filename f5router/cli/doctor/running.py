"""Checks of the router that runs on this machine: what only it has seen, such as a save that failed.

`kubectl exec deployment/f5router -- f5router doctor` finds it; elsewhere nothing is known of it.
"""

import re
from collections.abc import Iterator

import urllib3

from f5router.cli.doctor import fixes
from f5router.cli.doctor.report import Check, failure, ok, skipped, warning
from f5router.config.config import Config
from f5router.config.parsers import Address
from f5router.model import findings

AREA = "router"
CHECK = "checks"
TIMEOUT_S = 5.0
MOST_BYTES = 65_536
SEEN = ("saves", "disk of the BIG-IP", "refused writes")
"""Subjects of which only a router that runs knows."""

_ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_LINE = re.compile(r"\[([-!])\](\S+) (?:failed|warning): (.*)")


def check(config: Config) -> Iterator[Check]:
    """Read /readyz of the router with these settings."""
    if config.listen is None:
        yield skipped(AREA, SEEN, "--listen-addr is none, so a router does not tell them")
        return
    if not config.listen.port:
        return  # each router picks another
    where = Address(_ANYWHERE.get(config.listen.host, config.listen.host), config.listen.port)
    try:
        status, text = _read(where)
    except urllib3.exceptions.HTTPError:
        yield skipped(AREA, SEEN, f"no router answers at {where.host} port {where.port}; "
                                  "run doctor in its pod")
        return
    if not text.rstrip().endswith(("readyz check passed", "readyz check failed")):
        yield skipped(AREA, SEEN, f"{where.host} port {where.port} is not a router's: it answers {status}")
        return
    problems = [match for line in text.splitlines() if (match := _LINE.match(line))]
    for sign, name, why in (match.groups() for match in problems):
        make = failure if sign == "-" else warning
        yield make(AREA, CHECK, f"{name}: {why}", fixes.of(findings.ROUTER_TROUBLE), findings.ROUTER_TROUBLE)
    if not problems:
        yield ok(AREA, CHECK, "it is ready, and has no warnings")


def _read(where: Address) -> tuple[int, str]:
    """Read the checks. Raises: urllib3.exceptions.HTTPError.

    Over HTTP, which is served beside HTTPS too: the name in a certificate is that of a Service.
    """
    host = f"[{where.host}]" if ":" in where.host else where.host
    with urllib3.PoolManager(retries=False, timeout=TIMEOUT_S) as pools:
        reply = pools.request("GET", f"http://{host}:{where.port}/readyz?verbose", preload_content=False)
        text = reply.read(MOST_BYTES).decode(errors="replace")
        reply.release_conn()
    return reply.status, text
