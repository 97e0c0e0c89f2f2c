"""Pool members whose LTM nodes somebody else made: which are used, left out, or get nothing."""

from collections.abc import Iterable

from f5router.model.ltm import Pool
from f5router.model.ltm_nodes import LTMNode, NodeMap
from f5router.model.texts import Findings

SHOWN = 3
"""Nodes that a sentence names; the others are counted."""


def findings(nodes: NodeMap, pools: Iterable[Pool]) -> Findings:
    """Compare wanted pools with the nodes that are on the BIG-IP.

    It is a problem if a pool has no member left, and a warning if it has fewer, or members of other names.
    """
    used: dict[LTMNode, set[str]] = {}
    emptied: list[str] = []
    for pool in pools:
        foreign = {m.address: nodes.foreign[m.address] for m in pool.members if m.address in nodes.foreign}
        for node in foreign.values():
            used.setdefault(node, set()).add(pool.path)
        if foreign and all(nodes.obstacle(member.address) for member in pool.members):
            emptied.append(pool.path)
    left = [node for node in used if node.obstacle(nodes.partition)]
    reused = [node for node in used if not node.obstacle(nodes.partition)]
    off = [node for node in reused if node.state != "enabled"]
    problems = (f"{_counted(len(emptied), 'pool')} would have no member, as other LTM nodes have the "
                f"addresses: {_listed(emptied)}",) if emptied else ()
    return Findings(problems, (
        *(f"left out of {_counted(len(used[node]), 'pool')}: {node.obstacle(nodes.partition)}"
          for node in sorted(left, key=_path)[:SHOWN]),
        *((f"{len(left) - SHOWN} more LTM nodes leave pods out of pools",) if len(left) > SHOWN else ()),
        *((f"members use {_counted(len(reused), 'LTM node')} of another name: {_nodes(reused)}",)
          if reused else ()),
        *((f"{_counted(len(off), 'LTM node')} that members use get no new clients, as their administrator "
           f"has disabled them: {_nodes(off)}",) if off else ())))


def _path(node: LTMNode) -> str:
    return node.path


def _nodes(nodes: Iterable[LTMNode]) -> str:
    return _listed(f"{node.path} ({node.address})" for node in sorted(nodes, key=_path))


def _listed(texts: Iterable[str]) -> str:
    names = sorted(texts)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
