"""Findings about the installation as a whole: what an operator on call has to know.

Pure functions of what was read, at the cost of what is wrong. Readiness, the header of the status page,
metrics and the log show them; those about single Routes are in `findings`.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime

from f5router.admission.admission import EvaluatedRoute
from f5router.model import clock_offset, findings, names
from f5router.model.cluster import Key
from f5router.model.errors import LoginRefused, TokenLimit
from f5router.model.findings import CERTIFICATE_ENDING, LICENCE_ENDING, Finding, Link, finding
from f5router.model.ltm import Pool
from f5router.model.ltm_nodes import NodeMap
from f5router.model.meanings import Effect
from f5router.model.texts import CERTIFICATE_EXPIRED
from f5router.network.pool_members import disabled_node_findings

MOST_NAMED = 5
"""Routes that a finding names."""
_THIS = "this machine"


def of_error(error: Exception | None) -> Finding | None:
    """Return the finding about an error of the BIG-IP, if there is a code for it."""
    for kind, code in ((TokenLimit, findings.TOKEN_LIMIT), (LoginRefused, findings.LOGIN_REFUSED)):
        if isinstance(error, kind):
            return finding(Link.DEVICE, code, str(error))
    return None


def of_clocks(offsets: Mapping[str, float | None]) -> list[Finding]:
    """Return which clocks differ from this machine's.

    If all do, by the same time, this machine's clock is the one that is wrong.

    Args: offsets: how many seconds each clock is ahead, by the name of its machine; None if it is not known.
    """
    known = {whose: ahead_s for whose, ahead_s in offsets.items() if ahead_s is not None}
    wrong = {whose: ahead_s for whose, ahead_s in known.items() if abs(ahead_s) > clock_offset.MOST_S}
    if len(wrong) == len(known) > 1 and max(wrong.values()) - min(wrong.values()) <= clock_offset.MOST_S:
        text = clock_offset.describe(-min(wrong.values(), key=abs), f"the clocks of {' and '.join(wrong)}")
        return [finding(Link.CLUSTER, findings.CLOCK_DIFFERS, f"the clock of {_THIS} {text}", at=_THIS)]
    return [finding(Link.DEVICE, findings.CLOCK_DIFFERS,
                    f"the clock of {whose} {clock_offset.describe(ahead_s, _THIS)}", at=whose)
            for whose, ahead_s in wrong.items()]


def of_licence(*, exists: bool, ends: date | None, today: date) -> Finding | None:
    """Return what is wrong with the BIG-IP's licence. Args: ends: its last day; None for one without."""
    if not exists:
        return finding(Link.DEVICE, findings.LICENCE_EXPIRED, "the BIG-IP has no licence")
    if ends is None or ends - today > LICENCE_ENDING:
        return None
    if ends < today:
        return finding(Link.DEVICE, findings.LICENCE_EXPIRED, f"the licence of the BIG-IP ended on {ends}")
    return finding(Link.DEVICE, findings.LICENCE_ENDS, f"the licence of the BIG-IP ends on {ends}")


def of_ltm_nodes(nodes: NodeMap, pools: Iterable[Pool]) -> list[Finding]:
    """Return which LTM nodes of pool members are disabled or forced offline. Args: nodes: as they were read.

    Requests are lost if a pool has no other member.
    """
    pools = [pool for pool in pools if pool.members]
    result = disabled_node_findings(nodes, pools)
    is_lost = any(all(member.address in nodes.disabled for member in pool.members) for pool in pools)
    return [finding(Link.NODE, findings.NODE_DISABLED, text, at=text, effect=Effect.LOST if is_lost else None)
            for text in (*result.problems, *result.warnings)]


def certificate_ends(routes: Iterable[tuple[Key, EvaluatedRoute]]) -> list[tuple[datetime, Key]]:
    """Return when the certificates of Routes end, the first one first."""
    return sorted((pair.validity.end, key) for key, route in routes
                  if (pair := route.key_pair) is not None and pair.validity is not None)


def of_certificates(routes: Iterable[tuple[Key, EvaluatedRoute]], default: datetime | None,
                    now: datetime) -> list[Finding]:
    """Return which certificates have ended, or end within a week.

    Args: default: when the default certificate ends; None without one.
    """
    ends = [(end, names.label(key, "Route")) for end, key in certificate_ends(routes)]
    if default is not None:
        ends = sorted([(default, "the default certificate"), *ends])
    expired = [f"{whose} on {end:%Y-%m-%d}" for end, whose in ends if end <= now]
    ending = [f"{whose} on {end:%Y-%m-%d}" for end, whose in ends if now < end <= now + CERTIFICATE_ENDING]
    result = []
    if expired:
        result.append(finding(Link.CERTIFICATE, CERTIFICATE_EXPIRED,
                             f"certificates that have ended: {listed(expired)}"))
    if ending:
        result.append(finding(Link.CERTIFICATE, findings.CERTIFICATE_ENDS,
                             f"certificates that end within a week: {listed(ending)}"))
    return result


def listed(texts: list[str]) -> str:
    """Join texts, as in "a, b and 3 more"."""
    more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return ", ".join(texts[:MOST_NAMED]) + more
