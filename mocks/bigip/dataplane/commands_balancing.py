"""TMM commands on load balancing: pool, LB, persist.

Source: tmsh reference, ltm rule command pool, LB, persist; bigip-behaviour.md B5.
"""

from __future__ import annotations

from mocks.bigip import addresses, names
from mocks.bigip.dataplane.commands_connection import Result, need, text
from mocks.bigip.dataplane.connection import Script
from mocks.bigip.quirks import Quirk
from mocks.bigip.tmm import TclError, Unsupported


def _pool(rules: Script, name: str) -> str:
    """Full path; a bare name lies in the folder of the rule, else in /Common. Raises: TclError."""
    store = rules.flow.shared.store
    for candidate in (names.full_path(name, rules.folder), names.full_path(name, "/Common")):
        if store.get("ltm/pool", candidate) is not None:
            return candidate
    raise TclError(f"no such pool: {name}")


def pool(rules: Script, args: list[bytes]) -> Result:
    words = [text(arg) for arg in args]
    match words:
        case [_]:
            member = None
        case [_, "member", member]:
            pass
        case [_, "member", address, port]:
            member = f"{address}{'.' if ':' in address else ':'}{port}"
        case _:
            raise Unsupported(f"pool {' '.join(words)}")
    state = rules.state
    state.rule_pool = state.request_pool = _pool(rules, words[0])
    state.forced_member, state.node = member, None
    return ""


def node(rules: Script, args: list[bytes]) -> Result:
    """`node ADDRESS ?PORT?`, also as ADDRESS:PORT."""
    words = [text(arg) for arg in args]
    try:
        address, port = words if len(words) == 2 else addresses.split_port(words[0])
        rules.state.node = (f"{address}:{int(port)}", str(addresses.parse(address)), int(port))
    except (ValueError, IndexError):
        raise TclError(f"node {' '.join(words)}: no address and port") from None
    return ""


def server(rules: Script, args: list[bytes]) -> Result:
    """Return the choice; the pool is known before the member is."""
    state, words = rules.state, [text(arg) for arg in args]
    chosen = state.pool_now if state.event not in ("HTTP_REQUEST", "CLIENT_DATA") else None
    chosen = chosen or state.request_pool or state.effect.pool or state.rule_pool or rules.flow.virtual.pool
    member = state.member if state.event not in ("HTTP_REQUEST", "CLIENT_DATA", "CLIENT_ACCEPTED") else None
    match words:
        case ["pool"]:
            return shown(rules, chosen or "")
        case ["addr"]:
            return member.address if member else ""
        case ["port"]:
            return member.port if member else 0
        case ["priority"]:
            return member.priority if member else 0
        case ["name"] | []:
            return f"{chosen} {member.address} {member.port}" if member else chosen or ""
        case _:
            raise Unsupported(f"LB::server {' '.join(words)}")


def shown(rules: Script, path: str) -> str:
    """A name as TMM gives it: the full path (bigip-behaviour.md B5), or without the folder."""
    return path.rsplit("/", 1)[-1] if rules.flow.shared.store.has(Quirk.BARE_NAMES) else path


def reselect(rules: Script, args: list[bytes]) -> Result:
    need(rules, "LB_FAILED")
    if args and args[0] == b"pool":
        pool(rules, args[1:])
    elif args:
        raise Unsupported(f"LB::reselect {' '.join(map(text, args))}")
    rules.state.reselect = True
    return ""


def detach(rules: Script, args: list[bytes]) -> Result:
    """The server side is given up before the request is balanced (clouddocs, LB::detach)."""
    if args:
        raise Unsupported(f"LB::detach {' '.join(map(text, args))}")
    rules.state.detach = True
    if rules.flow.shared.store.has(Quirk.DETACH_FORGETS_POOL):
        rules.state.request_pool = None
    return ""


def persist(rules: Script, args: list[bytes]) -> Result:
    """All forms hold for later requests of the connection too, until another is given."""
    match [text(arg) for arg in args]:
        case ["none"]:
            rules.state.persist_off, rules.state.persist = True, None
        case ["uie", key, timeout] if key and timeout.isdigit():
            rules.state.persist_off = False
            rules.state.persist = "universal", {"key": key, "timeout": timeout}
        case ["cookie", "insert", *rest] if len(rest) <= 2:
            rules.state.persist_off, rules.state.persist = False, ("cookie", _cookie(rules, rest))
        case words:
            raise Unsupported(f"persist {' '.join(words)}")
    return ""


def _cookie(rules: Script, words: list[str]) -> dict[str, str]:
    """Properties of `persist cookie insert ?NAME ?EXPIRATION??`; an expiration in another form than seconds
    is not known here."""
    if rules.flow.virtual.http is None:
        raise TclError("cookie persistence requires an HTTP profile")
    name, expiration = (*words, "none", "0")[:2] if len(words) != 1 else (words[0], "0")
    if not expiration.isdigit():
        raise Unsupported(f"persist cookie insert: expiration {expiration}")
    return {"cookieName": name, "expiration": expiration}


COMMANDS = {
    "pool": pool,
    "node": node,
    "LB::server": server,
    "LB::reselect": reselect,
    "LB::detach": detach,
    "persist": persist,
}
