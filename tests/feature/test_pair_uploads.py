"""Certificates over SSH to a pair: each unit has an SSH server of its own, with a host key of its own."""

from dataclasses import replace

import pytest

from mocks.bigip import FakeBigIP
from tests import manifests
from tests.builders import identity
from tests.feature.test_pair import PairLab
from tests.waiting import DEADLINE_S, until

ONE, TWO = identity(algorithm="rsa"), identity(serial=2)


@pytest.fixture
def joined(make_lab, tmp_path):
    """A pair whose units have the same SSH port; `ssh` has the flags for both."""
    lab = make_lab(ssh=True)
    lab.timing = replace(lab.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    with FakeBigIP(ssh=True, ssh_port=lab.bigip.ssh_port, host="127.0.0.2") as second:
        pair = PairLab(lab, second, tmp_path / "both.crt")
        pair.ssh = lab.ssh_flags()
        second.ssh_server.authorized |= lab.bigip.ssh_server.authorized
        yield pair
        assert [*lab.bigip.errors, *second.errors] == []


def edge(name: str, who) -> dict:
    return manifests.route(name, host=f"{name}.com", kind="edge", certificate=who.certificate, key=who.key)


def commands(big: FakeBigIP) -> list[str]:
    return list(big.ssh_server.log)


def certificate(big: FakeBigIP, host: str) -> str:
    """Content of the certificate that a unit shows for a host; "" for none."""
    profile = big.get(f"ltm/profile/client-ssl/~Common~openshift_host_{host}-client-ssl-profile")
    files = {item.path: item.hidden["data"].decode() for item in big.items("sys/file/ssl-cert")}
    return files[profile["cert"]] if profile else ""


@pytest.mark.parametrize("known", ["known_hosts", "fingerprints"])
def test_each_active_unit_gets_its_files_over_its_own_connection(joined, tmp_path, known):
    """A standby gets no command, and nobody's disk keeps a file."""
    lab, (first, second) = joined.lab, joined.pair.units
    servers = [big.ssh_server for big in joined.pair.units]
    flags = joined.flags | joined.ssh
    flags["f5_ssh_host_key"] = ",".join(server.host_key_fingerprint for server in servers)
    if known == "known_hosts":
        del flags["f5_ssh_host_key"]
        flags["f5_ssh_known_hosts"] = str(tmp_path / "known_hosts")
        (tmp_path / "known_hosts").write_text("\n".join(server.host_key_line for server in servers))
    router = lab.router(**flags)
    lab.apply(edge("a", ONE))
    assert lab.converge(router) == []
    assert certificate(first, "a.com") == ONE.certificate
    assert any(command.startswith("scp") for command in commands(first))
    assert (servers[1].connections, joined.written(second)) == (0, [])
    before = commands(first)
    joined.pair.fail_over()
    lab.apply(edge("a", TWO))
    until(lambda: lab.converge(router) == [] and certificate(second, "a.com") == TWO.certificate)
    assert any(command.startswith("scp") for command in commands(second))
    assert commands(first) == before
    assert [dict(big.store.disk) for big in joined.pair.units] == [{}, {}]


def test_a_unit_with_the_host_key_of_the_other_gets_no_private_key(joined, tmp_path):
    """Only what needs the upload waits; it is there once the file has the right key."""
    lab, (first, second) = joined.lab, joined.pair.units
    known_hosts, right = tmp_path / "known_hosts", second.ssh_server.host_key_line
    place, key = right.split()[0], first.ssh_server.host_key_line.split(" ", 1)[1]
    known_hosts.write_text(f"{first.ssh_server.host_key_line}\n{place} {key}\n")
    flags = joined.flags | joined.ssh | {"f5_ssh_known_hosts": str(known_hosts)}
    del flags["f5_ssh_host_key"]
    router = lab.router(**flags)
    lab.apply(edge("a", ONE), manifests.route("plain", host="plain.com"))
    assert lab.converge(router) == []
    joined.pair.fail_over()
    (reason,) = lab.converge(router)
    assert "host key" in reason
    assert "openshift_route_shop_plain" in joined.hosts(second)
    assert (commands(second), certificate(second, "a.com")) == ([], "")
    (tmp_path / "new").write_text(right)
    (tmp_path / "new").rename(known_hosts)
    lab.later()
    assert lab.converge(router) == []
    assert certificate(second, "a.com") == ONE.certificate
