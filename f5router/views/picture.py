"""Chains of Routes as a picture, in the language of Graphviz (https://graphviz.org/doc/info/lang.html)."""

from collections.abc import Iterator, Sequence

from f5router.model.printable import printable
from f5router.views import chain
from f5router.views.chain import Step
from f5router.views.routes import RouteView

MEMBER, NODE = "member", "Node"
_WELL, _BROKEN = "color=darkgreen", "color=red, penwidth=2"


def dot(routes: Sequence[RouteView]) -> str:
    """Draw the chain of each Route; broken links are red, with what is wrong."""
    lines = ["digraph explain {", "  rankdir=LR", "  node [shape=box]"]
    for number, route in enumerate(routes):
        title = f"{route.kind} {route.namespace}/{route.name}: {route.status.value}"
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(title)}",
                  *(f"    {line}" for line in _chain(number, chain.steps(route))), "  }"]
    return "\n".join([*lines, "}"])


def _chain(number: int, steps: Sequence[Step]) -> Iterator[str]:
    """Yield a box for each step, below the one before; members stand side by side, Nodes behind theirs."""
    members: list[tuple[str, Step]] = []
    before = ""
    for place, step in enumerate(steps):
        name = f"r{number}_{place}"
        text = "\n".join((step.name, step.text, *step.problems))
        yield f"{name} [label={_quoted(text)}, {_BROKEN if step.problems else _WELL}]"
        parents = [before] if before else []
        if step.name == NODE:
            parents = [member for member, each in members if f"Node {step.text}" in each.text.split(", ")]
        yield from (f"{parent} -> {name}" for parent in parents)
        if step.name == MEMBER:
            members.append((name, step))
        elif step.name != NODE:
            before = name


def _quoted(text: str) -> str:
    """Return a text as a string of the language, where backslashes and quotes have a meaning."""
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
