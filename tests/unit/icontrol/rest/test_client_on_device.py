"""The REST client against the fake BIG-IP: what is done there, and what the client says of it."""

import concurrent.futures
import contextlib
import threading

import pytest

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.settings import ClientSettings
from f5router.model.errors import (
    AuthFailed,
    Busy,
    Conflict,
    DeviceTimeout,
    InUse,
    NotFound,
    NotReady,
    Unreachable,
    Unsupported,
)
from mocks.bigip import FakeBigIP
from tests.unit.icontrol.scripted import Clock

POOL = "/Common/x"
PATH = item_path("ltm/pool", POOL)


def settings_of(big: FakeBigIP, **changes) -> ClientSettings:
    values = {"base_url": big.url, "username": big.username, "password": big.password}
    return ClientSettings(**values | {"verify": big.ca_file} | changes)


@contextlib.contextmanager
def device(version: str = "14.1.2.1", **changes):
    """A fake and a client of it, with one clock."""
    clock = Clock()
    with FakeBigIP(tmos_version=version, clock=clock) as big:
        settings = settings_of(big, **changes)
        with Client(settings, clock=clock, sleep=clock.sleep) as client:
            yield big, client, clock
        assert not big.errors


def live(big: FakeBigIP) -> int:
    """Tokens that are good on the device."""
    return len(big.tokens.live())


@pytest.mark.parametrize("version", ["11.5.1", "11.6.0", "12.1.2", "13.0.0", "14.1.2.1", "17.1.0"])
def test_versions(version):
    """Reads and writes work on each, with the authentication that it takes; no token is left."""
    with device(version) as (big, client, _):
        assert client.version() == tuple(map(int, version.split(".")))
        assert client.ready()
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        client.patch(PATH, {"description": "< a > & \"ä\""})
        assert client.get(PATH)["description"] == "< a > & \"ä\""
        client.delete(PATH)
        client.save()
        with pytest.raises(NotFound):
            client.get(PATH)
        assert live(big) == (version >= "12")
        client.close()
        assert live(big) == 0


def test_write_before_the_version_is_known():
    """11.6 refuses it with a token; it is done with basic authentication, once."""
    with device("11.6.0") as (big, client, _):
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        assert big.get(PATH)
        client.delete(PATH)
        assert [entry.status for entry in big.writes() if "/ltm/" in entry.path] == [401, 200, 200]


def test_role_is_refused_without_a_second_try():
    """A real lack of rights stays one; the version is asked once."""
    with device("12.1.2") as (big, client, _):
        big.add_user("viewer", "secret-of-viewer", role="guest")
        settings = settings_of(big, username="viewer", password="secret-of-viewer")
        with Client(settings) as viewer, pytest.raises(AuthFailed, match="Authorization failed"):
            viewer.post("ltm/pool", {"name": "x", "partition": "Common"})
        assert len([e for e in big.log if e.path == "/mgmt/tm/ltm/pool"]) == 1
        client.get("ltm/pool")


def test_no_rest():
    """Below 11.4."""
    with device("11.3.0") as (_, client, _), pytest.raises(Unsupported, match=r"11\.4 or later is needed"):
        client.version()


@pytest.mark.parametrize("version", ["11.6.0", "13.0.0", "14.1.2.1"])
def test_uploads(version):
    """Chunks arrive whole; a version without the end point is named."""
    data = bytes(range(256)) * 5000
    with device(version) as (big, client, _):
        if version < "12":
            with pytest.raises(Unsupported, match=r"TMOS 11\.6\.0 takes no uploads"):
                client.upload("a.crt", data)
            return
        big.inject("drop-reply", path="/uploads/")
        path = client.upload("a.crt", data)
        assert big.store.disk[path].data == data


@pytest.mark.parametrize(("fault", "kind", "done", "may_have_applied"), [
    ("drop-reply", Unreachable, True, True),
    ("drop-request", Unreachable, False, True),
    ("timeout-html", DeviceTimeout, True, True),
    ("truncated-json", NotReady, True, True),
    ("html-200", NotReady, False, True),
    ("503-html", NotReady, False, True),
    ("500-mcpd", NotReady, False, True),
    ("503-async", Busy, False, False),
    ("404-not-registered", NotReady, False, False),
])
def test_write_with_fault(fault, kind, done, may_have_applied):
    """Sent once. Where the client says that it is not may_have_applied, it was not done."""
    with device() as (big, client, clock):
        big.inject(fault, method="POST", path="/ltm/pool")
        with pytest.raises(kind) as caught:
            client.post("ltm/pool", {"name": "x", "partition": "Common"})
        assert type(caught.value) is kind
        assert caught.value.may_have_applied is may_have_applied
        assert (big.get(PATH) is not None) is done
        assert may_have_applied or not done
        assert len([e for e in big.writes() if "/ltm/pool" in e.path]) == 1
        assert not clock.waits


@pytest.mark.parametrize("fault", [
    "drop-reply", "drop-request", "timeout-html", "truncated-json", "html-200", "503-html", "500-mcpd",
    "503-async", "404-not-registered", "401", "token-expired",
])
def test_read_with_fault(fault):
    """The caller sees nothing of it."""
    with device() as (big, client, _):
        big.inject(fault, times=2 if fault != "token-expired" else 1, method="GET", path="/ltm/pool")
        assert client.get("ltm/pool")["kind"] == "tm:ltm:pool:poolcollectionstate"


@pytest.mark.parametrize("fault", ["401", "token-expired"])
def test_write_with_401(fault):
    """Not executed, so done on the second try."""
    with device() as (big, client, _):
        big.inject(fault, method="POST", path="/ltm/pool")
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        assert big.get(PATH)


def test_refusals():
    """Refusals of an object have classes of their own."""
    with device() as (big, client, _):
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        with pytest.raises(Conflict):
            client.post("ltm/pool", {"name": "x", "partition": "Common"})
        client.post("ltm/monitor/http", {"name": "m", "partition": "Common"})
        client.patch(PATH, {"monitor": "/Common/m"})
        with pytest.raises(InUse):
            client.delete(item_path("ltm/monitor/http", "/Common/m"))
        with pytest.raises(NotFound):
            client.delete(item_path("ltm/pool", "/Common/other"))
        assert len(big.log) == client.counts.total()


def test_tokens_expire_on_the_way():
    """Reads and writes go on; one login; the old token is not deleted, it is gone."""
    with device() as (big, client, _):
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        big.expire_tokens()
        client.patch(PATH, {"description": "1"})
        assert client.counts["login"] == 2
        big.restart()
        client.patch(PATH, {"description": "2"})
        assert client.counts["login"] == 3
        assert big.get(PATH)["description"] == "2"


def test_a_day():
    """A request every few minutes: a token is never refused, and never more than one is held."""
    with device() as (big, client, clock):
        for _ in range(24 * 12):
            clock.now += 300
            client.get("ltm/pool")
            assert live(big) == 1
        assert 401 not in {entry.status for entry in big.log}
        assert client.counts["login"] <= 24 * 60 / 19


def test_expiry_under_load():
    """Threads that write while the tokens end again and again: all is done, once each."""
    with device(max_in_flight=8) as (big, client, _):
        client.post("ltm/pool", {"name": "x", "partition": "Common"})
        done = threading.Semaphore(0)

        def add(number: int) -> None:
            client.post(f"{PATH}/members", {"name": f"10.0.0.{number}:80", "partition": "Common"})
            done.release()

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for first in range(0, 100, 25):
                calls = [pool.submit(add, number) for number in range(first, first + 25)]
                for _ in range(10):
                    done.acquire()
                big.expire_tokens()
                for call in calls:
                    call.result()
        assert len(client.get(f"{PATH}/members")["items"]) == 100
        assert 3 <= client.counts["login"] <= 6


def test_token_limit():
    """The hundred-and-first login."""
    with device() as (big, client, clock):
        for _ in range(100):
            big.tokens.login({"username": big.username, "password": big.password}, "127.0.0.1")
        with pytest.raises(AuthFailed, match="curl -u USER -X DELETE"):
            client.get("ltm/pool")
        big.tokens.clear()
        clock.now += 31
        client.get("ltm/pool")


@pytest.mark.parametrize(
    ("version", "auth"), [("14.1.2.1", "token"), ("14.1.2.1", "basic"), ("11.5.1", "token")])
def test_wrong_password(version, auth):
    """The device sees one refused login in 30 s."""
    with device(version, auth=auth, password="no") as (big, client, clock):
        for _ in range(10):
            with pytest.raises(AuthFailed):
                client.get("ltm/pool")
            clock.now += 2.9
        assert len([entry for entry in big.log if entry.status == 401]) == 1


def test_away_and_back():
    """A read waits for the device; a write whose connection is refused does too, and is done once."""
    with device() as (big, _, clock):
        def sleep(seconds: float) -> None:
            clock.sleep(seconds)
            if len(clock.waits) % 3 == 0:
                big.start()

        with Client(settings_of(big), clock=clock, sleep=sleep) as client:
            client.get("ltm/pool")
            big.stop()
            client.get("ltm/pool")
            big.stop()
            with contextlib.suppress(Unreachable):  # the kept connection may break while it is sent
                client.post("ltm/pool", {"name": "x", "partition": "Common"})
                assert big.get(PATH)
            big.stop()
        with device() as (other, client, _):
            other.stop()
            with pytest.raises(Unreachable, match="Connection refused") as caught:
                client.delete(PATH)
            assert not caught.value.may_have_applied


@pytest.mark.parametrize("state", ["restarting", "busy", "away"])
def test_ready(state):
    """False while it starts; an exception while it is away."""
    with device() as (big, client, _):
        assert client.ready()
        if state == "away":
            big.stop()
            with pytest.raises(Unreachable):
                client.ready()
            return
        big.inject({"restarting": "503-html", "busy": "503-async"}[state], times=1)
        assert not client.ready()
        assert client.ready()
