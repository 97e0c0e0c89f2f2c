"""Decision of a BIG-IP with a state of objects on a request: the Rules and records alone, without a device.

Sources: bigip-behaviour.md B4, B11; docs/bigip-objects.md. tests/feature asks the fake, which has these rules
of its own.
"""

from dataclasses import dataclass

from f5router.model import names
from f5router.model.ltm import Attachment, BigIPState, Condition, Forward, Record, Rule
from f5router.model.objects import Ref

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"


@dataclass(frozen=True)
class Request:
    """One request; with TLS its SNI is its host."""

    host: str
    path: str = "/"
    tls: bool = False


def answer(state: BigIPState, request: Request) -> str:
    """A pool, with "passthrough " before it where TLS ends there; a redirect; "" for none of them."""
    if request.tls and (pool := _passed_through(state, request.host)):
        return f"passthrough {pool}"
    policy = names.SECURE_POLICY if request.tls else names.INSECURE_POLICY
    virtual = HTTPS if request.tls else HTTP
    if not _attached(state, virtual, policy):
        return ""
    rule = leading_rule(state, request)
    if rule is None:
        return ""
    if rule.suffix and request.host.partition(".")[1:] != (".", rule.suffix[1:]):
        assert _attached(state, virtual, names.REQUEST_IRULE), "the wildcard has no guard"
        return ""
    if not isinstance(rule.action, Forward):
        return "redirect"
    return "" if rule.action.pool.endswith(f"/{names.NOWHERE_POOL}") else rule.action.pool


def leading_rule(state: BigIPState, request: Request) -> Rule | None:
    """Return the first Rule whose conditions hold, whether its policy is attached or not."""
    policy = names.SECURE_POLICY if request.tls else names.INSECURE_POLICY
    rules = sorted((obj for obj in state.values() if isinstance(obj, Rule) and obj.policy.endswith(policy)),
                   key=lambda rule: rule.ordinal)
    return next((rule for rule in rules if all(_holds(c, request) for c in rule.conditions)), None)


def _attached(state: BigIPState, virtual: str, name: str) -> bool:
    return any(isinstance(obj, Attachment) and obj.virtual == virtual and obj.target.endswith(f"/{name}")
               for obj in state.values())


def _passed_through(state: BigIPState, host: str) -> str:
    group = f"/Common/{names.PASSTHROUGH_GROUP}"
    if not _attached(state, HTTPS, names.PASSTHROUGH_IRULE):
        return ""
    for name in (host, f".{host.partition('.')[2]}"):
        record = state.get(Ref(Record.KIND, f"{group}/records/{name}"))
        if record is not None:
            return "" if record.data == names.EXCLUSION else record.data
    return ""


def _holds(condition: Condition, request: Request) -> bool:
    value = request.host
    if condition.selector == "path":
        value = request.path
    elif condition.selector == "pathSegment":
        segments = request.path.split("/")
        value = segments[condition.index] if condition.index < len(segments) else None
    if value is None or condition.operand in ("httpHeader", "httpMethod") or condition.name:
        return False
    test = {"equals": str.__eq__, "startsWith": str.startswith, "endsWith": str.endswith}[condition.operator]
    return any(test(value, wanted) for wanted in condition.values)
