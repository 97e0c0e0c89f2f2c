"""The data plane for other processes: the control port and the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest
import requests

from mocks.bigip.__main__ import main
from mocks.bigip.dataplane.control import Control
from tests.mocks.bigip.dataplane.conftest import Net, until
from tests.signals import command_line
from tests.waiting import DEADLINE_S


@pytest.fixture
def control(make_net):
    net = make_net()
    net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"))
    with Control(net.plane) as control_:
        yield net, control_.url


def test_pods_listeners_and_records(control: tuple[Net, str]):
    net, url = control
    host, port = net.big.endpoint("/P/v")
    assert requests.get(f"{url}/listeners").json() == {"10.9.0.10:80": f"{host}:{port}"}
    reply = requests.put(f"{url}/pods/10.1.0.1/8080", json={"name": "x", "namespace": "n"})
    assert reply.json() == {"pod": "x", "namespace": "n", "address": "10.1.0.1", "port": 8080}
    assert net.ask("/P/v").pod == "x"
    assert requests.get(f"{url}/pods").json() == [{**reply.json(), "accepted": 1}]
    assert requests.get(f"{url}/served?last=1").json()[0]["member"] == "10.1.0.1:8080"
    assert requests.delete(f"{url}/pods/10.1.0.1/8080").status_code == 200
    assert requests.get(f"{url}/pods").json() == []
    assert net.ask("/P/v").ended == "reset"
    net.big.add_virtual("/P/six", "2001:db8::1.80", pool="/P/p")
    shown = requests.get(f"{url}/listeners").json()["2001:db8::1.80"]
    assert shown == f"[::1]:{net.big.endpoint('/P/six')[1]}"
    assert requests.get(f"{url}/errors").json() == []
    assert requests.get(f"{url}/nothing").status_code == 404


def test_the_unit_of_a_pair(control: tuple[Net, str]):
    net, url = control
    assert requests.put(f"{url}/unit", json={"group": "pair", "failover": "STANDBY"}).status_code == 200
    shown = requests.get(f"{url}/unit").json()
    assert (shown["group"], shown["status"], net.big.unit.status) == ("pair", "STANDBY", "STANDBY")
    requests.put(f"{url}/unit", json={"sync": "conflict"})
    assert net.big.unit.sync == "conflict"


def test_the_command_prints_where_it_listens():
    command = [sys.executable, "-m", "mocks.bigip", "--dataplane", "--virtual", "/Common/v=10.0.0.1:80",
               "--pod", "10.1.0.1:80=web"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            first = dict(word.split("=", 1) for word in process.stdout.readline().split())
            assert (first["destination"], first["virtual"]) == ("10.0.0.1:80", "/Common/v")
            login = dict(word.split("=", 1) for word in process.stdout.readline().split())
            control = process.stdout.readline().strip().removeprefix("control=")
            assert requests.get(f"{control}/listeners").json() == {"10.0.0.1:80": first["listen"]}
            body = {"name": "p", "members": ["10.1.0.1:80"]}
            kwargs = {"auth": (login["user"], login["password"]), "verify": login["ca"]}
            requests.post(f"{login['url']}/mgmt/tm/ltm/pool", json=body, **kwargs).raise_for_status()
            virtual = f"{login['url']}/mgmt/tm/ltm/virtual/~Common~v"
            requests.patch(virtual, json={"pool": "p"}, **kwargs).raise_for_status()
            assert requests.get(f"http://{first['listen']}/").json()["pod"] == "web"
            requests.delete(virtual, **kwargs).raise_for_status()
            assert process.stdout.readline().startswith("listen=- destination=10.0.0.1:80")
        finally:
            process.terminate()
    assert process.returncode == 0


@pytest.mark.parametrize("pod", ["10.1.0.1", "10.1.0.1:x", "nowhere"])
def test_a_pod_without_a_port_is_refused(pod):
    ended = command_line(main, "--dataplane", "--pod", pod)
    assert ended.exit_code == 2
    assert "not ADDRESS:PORT" in ended.stderr


def test_on_write_may_send_traffic():
    """A test may ask after every write what a client would see."""
    from mocks.bigip import FakeBigIP

    seen: list[int] = []
    with FakeBigIP(dataplane=True) as big:
        big.pods.start("10.1.0.1", 80, "web")
        big.add_virtual("/Common/v", "10.9.0.1:80")
        host, port = big.endpoint("/Common/v")
        where = f"http://{host}:{port}/"

        def look(_entry) -> None:
            try:
                seen.append(requests.get(where, timeout=DEADLINE_S).status_code)
            except requests.ConnectionError:
                seen.append(0)

        big.on_write = look
        kwargs = {"auth": (big.username, big.password), "verify": big.ca_file}
        body = {"name": "p", "members": ["10.1.0.1:80"]}
        requests.post(f"{big.url}/mgmt/tm/ltm/pool", json=body, **kwargs).raise_for_status()
        requests.patch(f"{big.url}/mgmt/tm/ltm/virtual/~Common~v", json={"pool": "p"}, **kwargs)
        assert seen == [0, 200]
        assert big.errors == []
        until(lambda: not any(big.dataplane.counters().values()))
