"""Pure modules stay pure, and each I/O library has one home. Source: docs/architecture.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "f5router"
PURE = (
    "admission",
    "adoption",
    "annotations",
    "base",
    "bigip",
    "certificates",
    "checkqueue",
    "claims",
    "cluster",
    "conditions",
    "contention",
    "contests",
    "desired",
    "errors",
    "health",
    "hosts",
    "incremental",
    "issuers",
    "names",
    "original",
    "overtaking",
    "pem",
    "plan",
    "preview",
    "problems",
    "selection",
    "selectors",
    "status",
    "steps",
    "irules/__init__",
    "icontrol/codec",
    "icontrol/netcodec", "icontrol/policycodec",
    "printable", "ref", "tunnels", "validation", "variables", "vxlan", "vxlan_checks",
    "findings", "members", "refused_addresses", "nodeport", "nodes", "podroutes", "selectors",
)
STANDARD = {
    "base64",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "difflib",
    "functools",
    "hashlib",
    "html",
    "importlib",
    "ipaddress",
    "itertools",
    "json",
    "logging",
    "math",
    "re",
    "threading",
    "time",
    "types",
    "typing",
}
HOMES = {"requests": "icontrol", "paramiko": "icontrol", "scp": "icontrol", "kubernetes": "kube",
         "prometheus_client": "metrics.py"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "f5router"}
    return found


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_do_no_io(name):
    allowed = {f"f5router.{p.replace('/__init__', '').replace('/', '.')}" for p in PURE} | {
        "f5router",
        "f5router.icontrol",
    }
    for module in imported(ROOT / f"{name}.py"):
        if module.startswith("f5router"):
            assert module in allowed, module
        elif name in ("issuers", "pem"):
            assert module.split(".")[0] in STANDARD | {"cryptography"}, module
        else:
            assert module.split(".")[0] in STANDARD, module


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_io_libraries_have_one_home(path):
    folder = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        home = HOMES.get(module.split(".")[0])
        # Configuration parses the key it is given, once, at the start.
        assert home in (None, folder) or (path.name == "config.py" and home == "icontrol"), module


def test_no_module_state():
    """No module-level dict, list or set that could be changed (style: state is an argument)."""
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Set):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = getattr(target, "id", "")
                assert name == "__all__" or name.lstrip("_").isupper(), f"{path.name}: {ast.unparse(node)}"
