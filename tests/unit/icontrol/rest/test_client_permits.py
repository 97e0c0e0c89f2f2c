"""f5router.icontrol.rest.client: each attempt of a write is permitted, and what a 403 means."""

import pytest

from f5router.icontrol.rest.client import Client
from f5router.model.errors import (
    AuthFailed,
    Forbidden,
    Standby,
    Unreachable,
)
from tests.unit.icontrol.scripted import (
    Answer,
    Clock,
    closed_port,
    connected,
    settings_for,
)

WRITES = {
    "POST": ("/ltm/pool", lambda client: client.post("ltm/pool", {})),
    "PATCH": ("/ltm/pool", lambda client: client.patch("ltm/pool/x", {})),
    "DELETE": ("/ltm/pool", lambda client: client.delete("ltm/pool/x")),
    "upload": ("/file-transfer/", lambda client: client.upload("x", b"text")),
    "save": ("/sys/config", lambda client: client.save()),
}
SECOND_ATTEMPTS = {
    "a token that has ended": Answer(401, {"code": 401, "message": "X-F5-Auth-Token has expired."}),
    "a sporadic 401": Answer(401, {"code": 401, "message": (
        "Authorization failed: no user authentication header or token detected. Uri:x")}),
    "a sporadic 403": Answer(403, {"code": 403, "message": "Forbidden"}),
}


@pytest.mark.parametrize("answer", SECOND_ATTEMPTS.values(), ids=SECOND_ATTEMPTS)
@pytest.mark.parametrize(("path", "write"), WRITES.values(), ids=WRITES)
def test_each_attempt_of_a_write_is_permitted(path, write, answer):
    """The unit may be a standby by the time of the second one: then that is not sent."""
    with connected() as (device, client, _):
        asked = []

        def check() -> None:
            asked.append(len([r for r in device.sent(path=path) if r.method != "GET"]))
            if len(asked) == limit:
                raise Standby("GET", "/state", "the unit is STANDBY")

        client.before_write, limit = check, 0
        device.add(answer, path=path)
        write(client)
        assert asked == [0, 1]
        device.add(answer, path=path)
        asked.clear()
        limit = 2
        with pytest.raises(Standby):
            write(client)
        assert asked == [2, 3]
        assert len(device.sent(path=path)) == 3


def test_each_attempt_without_a_connection_is_permitted():
    """A unit that restarts comes back as a standby."""
    clock, asked = Clock(), []
    settings = settings_for(f"https://127.0.0.1:{closed_port()}", auth="basic", retry_s=20)
    with Client(settings, clock=clock, sleep=clock.sleep) as client:
        client.before_write = lambda: asked.append(client.counts["POST"])
        with pytest.raises(Unreachable):
            client.post("ltm/pool", {})
    assert len(asked) > 3
    assert asked == list(range(len(asked)))


def test_the_permission_comes_after_the_login():
    """A login may take long: longer than an answer about the state is good for."""
    with connected() as (device, client, _):
        logins = []
        client.before_write = lambda: logins.append(device.logins)
        client.post("ltm/pool", {})
        assert logins == [1]


def test_no_permission_to_remove_an_uploaded_file():
    """It is a private key, and goes from a standby too."""
    with connected() as (device, client, _):
        client.before_write = lambda: pytest.fail("asked")
        client.run("unix-rm", "/var/config/rest/downloads/x")
        assert len(device.sent("POST", "util/unix-rm")) == 1


FORBIDS = Answer(403, {"code": 403, "message": "Forbidden"})
FORBIDDEN_CALLS = pytest.mark.parametrize(("method", "call"), [
    ("GET", lambda client: client.get("ltm/pool/x")),
    ("PATCH", lambda client: client.patch("ltm/pool/x", {})),
    ("POST", lambda client: client.post("ltm/pool/x", {})),
    ("DELETE", lambda client: client.delete("ltm/pool/x")),
], ids=["GET", "PATCH", "POST", "DELETE"])


@FORBIDDEN_CALLS
def test_a_single_403_is_repeated(method, call):
    """Nothing was done, and the device answers a harmless read: once more."""
    with connected() as (device, client, _):
        device.add(FORBIDS, method=method, path="ltm/pool/x")
        call(client)
        assert len(device.sent(method, "ltm/pool/x")) == 2
        assert len(device.sent("GET", "sys/version")) == 1


@FORBIDDEN_CALLS
def test_a_403_that_stays(method, call):
    """Not repeated for ever; the error says that the device answers others."""
    with connected() as (device, client, _):
        device.add(*[FORBIDS] * 5, method=method, path="ltm/pool/x")
        with pytest.raises(Forbidden, match="403 Forbidden"):
            call(client)
        assert len(device.sent(method, "ltm/pool/x")) == 2


@FORBIDDEN_CALLS
def test_a_403_of_everything(method, call):
    """The credentials are to blame, and the request is not repeated."""
    with connected() as (device, client, _):
        device.add(*[FORBIDS] * 5, path="/mgmt/tm/")
        with pytest.raises(AuthFailed) as caught:
            call(client)
        assert type(caught.value) is AuthFailed
        assert len(device.sent(method, "ltm/pool/x")) == 1
