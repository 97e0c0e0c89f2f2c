"""docs/ramp-node.md on the fake device: its commands work, and the router touches none of what they make."""

import re
import shlex
from pathlib import Path

import pytest
import requests

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.waiting import DEADLINE_S

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ramp-node.md").read_text()
KINDS = {"net tunnels tunnel": "net/tunnels/tunnel", "net self": "net/self", "net route": "net/route",
         "ltm snatpool": "ltm/snatpool", "ltm virtual": "ltm/virtual", "sys config": "sys/config"}
METHODS = {"create": "POST", "modify": "PATCH", "delete": "DELETE"}
NAMES = {"interface": "tm-interface"}
"""Properties that REST calls otherwise."""


def commands(heading: str) -> list[str]:
    """tmsh commands of a section of the page, in order."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^(tmsh .*)$", section, re.MULTILINE)


def run(lab, command: str) -> None:
    """One tmsh command as REST; the device must accept it."""
    _, verb, *words = shlex.split(command)
    kind = next(kind for kind in KINDS if words[:len(kind.split())] == kind.split())
    rest = words[len(kind.split()):]
    method, url = METHODS.get(verb, "POST"), KINDS[kind]
    body = properties(rest[1:]) if verb in METHODS else {"command": verb}
    if verb == "create":
        body |= {"name": rest[0], "partition": "Common"}
    elif rest:
        url += f"/~Common~{rest[0]}"
    reply = requests.request(
        method, f"{lab.bigip.url}/mgmt/tm/{url}", json=body or None, timeout=DEADLINE_S,
        auth=(lab.bigip.username, lab.bigip.password), verify=str(lab.bigip.ca_file))
    assert reply.status_code == 200, (command, reply.text)


def properties(words: list[str]) -> dict:
    """`a b c { d e }` as {"a": "b", "c": {"d": "e"}}; `members add { x }` as a list."""
    by_name: dict = {}
    rest = list(words)
    while rest:
        name = rest.pop(0)
        listed = rest[0] == "add" and bool(rest.pop(0))
        if rest[0] != "{":
            by_name[NAMES.get(name, name)] = rest.pop(0)
            continue
        end = rest.index("}")
        inside, rest = rest[1:end], rest[end + 1:]
        by_name[NAMES.get(name, name)] = inside if listed else properties(inside)
    if by_name.get("allow-service") == "none":
        by_name["allow-service"] = []
    return {re.sub("-(.)", lambda m: m[1].upper(), name): value for name, value in by_name.items()}


def network(lab) -> dict:
    """Everything under net, and the source addresses of the virtual servers."""
    kinds = [kind for kind in lab.bigip.store.kinds if kind.startswith("net/")] + ["ltm/snatpool"]
    by_kind = {kind: {item.key: item.fields for item in lab.bigip.items(kind)} for kind in kinds}
    for name in (HTTP, HTTPS):
        by_kind[name] = lab.bigip.get(f"ltm/virtual/~Common~{name}")["sourceAddressTranslation"]
    return by_kind


@pytest.mark.parametrize("version", ["11.5.4", "11.6.0", "12.1.2", "16.1.0"])
def test_the_commands_and_the_router(make_lab, version):
    """A router's whole life beside a ramp node: nothing under net is read or written, nor any Node read."""
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    for command in commands("2. On the BIG-IP"):
        run(lab, command)
    before = network(lab)
    assert "/Common/openshift-ramp" in {key[0] for key in before["net/route"]}
    for name in (HTTP, HTTPS):
        assert before[name].items() >= {"type": "snat", "pool": "/Common/openshift-ramp"}.items()
    lab.clear()
    lab.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)),
              *manifests.service("shop", "web", pods=("10.128.0.5", "10.128.2.5")),
              manifests.route("plain"), manifests.route("edge", host="e.example.com", kind="edge"))
    router = lab.router()
    assert lab.converge(router) == []
    lab.apply(manifests.node("n2", "10.3.89.2", cidrs=("10.128.2.0/23",)),
              manifests.endpoints("shop", "web", ("10.128.2.5",)))
    lab.settle(router)
    lab.kube.delete("Route", "shop", "plain")
    lab.kube.delete("Node", "", "n1")
    lab.settle(router)
    router.settling.finish()
    assert lab.converge() == []
    assert "/Common/openshift_shop_web" in lab.paths("ltm/pool")
    assert {(entry.method, entry.path) for entry in lab.bigip.log if "/net/" in entry.path} == {
        ("GET", "/mgmt/tm/net/self")}
    assert [entry.path for entry in lab.kube.log if "nodes" in entry.path or "subnets" in entry.path] == []
    assert network(lab) == before


def test_the_commands_to_remove_it(make_lab):
    lab = make_lab(tmos_version="11.6.0")
    lab.virtuals()
    before = network(lab)
    for command in commands("2. On the BIG-IP"):
        run(lab, command)
    assert network(lab) != before
    for name in (HTTP, HTTPS):
        lab.change("PATCH", f"ltm/virtual/~Common~{name}", {"sourceAddressTranslation": {"type": "none"}})
    for command in commands("To remove it"):
        run(lab, command)
    assert network(lab) == before
