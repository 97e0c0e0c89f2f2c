"""f5router.icontrol.rest.session: one token for all, renewed in time; refusals do not lock the account."""

import base64
import concurrent.futures
import json
import logging
import sys
import threading

import pytest

from f5router.icontrol.rest import session
from f5router.icontrol.rest.credentials import DEFAULT_LIFE_S, token_life_s
from f5router.model.errors import (
    AuthFailed,
    LoginRefused,
    NotReady,
    Stopped,
    TokenLimit,
    Unreachable,
    Unsupported,
)
from tests.unit.icontrol.scripted import (
    LOGIN,
    PASSWORD,
    USER,
    WRONG_BASIC,
    WRONG_PASSWORD,
    Answer,
    connected,
    login,
)

EXPIRED = Answer(401, {"code": 401, "message": "X-F5-Auth-Token has expired."})
MISSING = Answer(401, {"code": 401, "message": "X-F5-Auth-Token does not exist."})
SPORADIC = Answer(401, {"code": 401, "message": "Authorization failed: no user authentication header or "
                        "token detected. Uri:http://localhost:8100/mgmt/tm/ltm/virtual Referrer:10.1.1.1"})
NO_RIGHT = Answer(401, {"code": 401, "message": "Authorization failed: user=https://localhost/mgmt/shared/"
                        "authz/users/router resource=/mgmt/tm/ltm/pool verb=POST"})
NO_LOGIN = Answer(404, {"code": 404, "message": f"http://localhost:8100{LOGIN}", "errorStack": [
    f"com.f5.rest.common.RestWorkerUriNotFoundException: http://localhost:8100{LOGIN}"]})
STARTING = Answer(404, {"code": 404, "message": f"URI path {LOGIN} not registered.  Please verify URI"})
TOKEN_LIMIT = Answer(400, {"code": 400, "message": "user bfd47ab5 has reached maximum active login tokens"})


def tokens(requests) -> list[str]:
    """The token of each request, shortened to its number."""
    return [str(int(r.headers["X-F5-Auth-Token"][5:])) for r in requests]


def test_token():
    """One login serves all requests; the password goes out only with it, as UTF-8."""
    with connected() as (device, client, _):
        client.get("ltm/pool")
        client.post("ltm/pool", {"name": "x"})
        sent = device.sent(path="ltm/pool")
        assert tokens(sent) == ["1", "1"]
        body = device.sent(path=LOGIN)[0].body
    assert device.logins == 1
    assert "ö".encode() in body
    assert json.loads(body) == {"username": USER, "password": PASSWORD, "loginProviderName": "tmos"}
    assert not [r for r in device.requests if "Authorization" in r.headers or "Cookie" in r.headers]


def test_basic():
    """No login; user and password as UTF-8 with every request."""
    with connected(auth="basic") as (device, client, _):
        client.get("ltm/pool")
    pair = base64.b64decode(device.requests[0].headers["Authorization"].removeprefix("Basic "))
    assert pair.decode() == f"{USER}:{PASSWORD}"
    assert [r.path for r in device.requests] == ["/mgmt/tm/ltm/pool"]


def test_threads_share_a_login():
    """A hundred threads that start at once log in once."""
    barrier = threading.Barrier(100)
    with connected(max_in_flight=8) as (device, client, _):
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            list(pool.map(lambda _: (barrier.wait(), client.get("ltm/pool")), range(100)))
        assert len(device.sent("GET")) == 100
        assert device.logins == 1


def test_threads_share_a_renewal():
    """Threads whose token is refused at once log in again once, and all succeed."""
    with connected(max_in_flight=8) as (device, client, _):
        client.get("ltm/pool")
        barrier = threading.Barrier(8)
        device.add(*[Answer(401, EXPIRED.body, meanwhile=barrier.wait)] * 8, method="POST", path="ltm/pool")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: client.post("ltm/pool", {}), range(8)))
        assert device.logins == 2


def test_waiting_threads_share_a_failed_login():
    """A thread that waited for a failed login does not log in itself: ten would wait ten time-outs."""
    def others_wait():
        """Wait until the other threads stand in the module: only the lock keeps them there."""
        while [frame.f_code.co_filename for frame in sys._current_frames().values()].count(
                session.__file__) < 5:
            pass

    with connected(max_in_flight=8, retry_s=0) as (device, client, _):
        device.add(Answer(503, {"message": "starting"}, meanwhile=others_wait), path=LOGIN)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(client.get, "ltm/pool") for _ in range(6)]
            failures = [call.exception() for call in calls]
        assert {type(failure) for failure in failures} == {NotReady}
        assert len({id(failure) for failure in failures}) == 6
        assert device.logins == 1
        client.get("ltm/pool")
        assert device.logins == 2


@pytest.mark.parametrize(("life_s", "passed_s", "used"), [
    (1200, 1139, ["1", "1"]),
    (1200, 1141, ["1", "2"]),
    (36000, 35900, ["1", "1"]),
    (100, 49, ["1", "1"]),
    (100, 51, ["1", "2"]),
])
def test_renewed_before_the_end(life_s, passed_s, used):
    """A minute before the token's end, or at half of a short life, a new one replaces it."""
    with connected() as (device, client, clock):
        device.token_life_s = life_s
        client.get("ltm/pool")
        clock.now += passed_s
        client.post("ltm/pool", {})
        assert tokens(device.sent(path="ltm/pool")) == used
        deleted = [r.path[-1] for r in device.sent("DELETE", "/mgmt/shared/authz/tokens/")]
        assert deleted == used[:-1] if used[-1] == "2" else not deleted


@pytest.mark.parametrize("refusal", [EXPIRED, MISSING, Answer(401, b"")], ids=["expired", "missing", "empty"])
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_refused_token(method, refusal):
    """A 401 was not executed: after a new login the request is repeated, a write too, in full."""
    with connected() as (device, client, clock):
        device.add(refusal, method=method, path="ltm/pool")
        arguments = [{"name": "x"}] if method in ("POST", "PATCH") else []
        getattr(client, method.lower())("ltm/pool/x", *arguments)
        first, second = device.sent(method, "ltm/pool")
        assert tokens([first, second]) == ["1", "2"]
        assert first.body == second.body
        assert not clock.waits


def test_refused_token_is_deleted():
    """It may be alive for all we know, and a hundred of them are the limit."""
    with connected() as (device, client, _):
        for _ in range(3):
            device.add(Answer(401, b""), path="ltm/pool")
            client.get("ltm/pool")
        assert [r.path[-1] for r in device.sent("DELETE", "/authz/tokens/")] == ["1", "2", "3"]
        device.add(Answer(401, b""), path="ltm/pool")
        device.add(Answer(fault="close"), path=LOGIN)
        client.get("ltm/pool")
        assert device.sent("DELETE", "/authz/tokens/")[-1].path[-1] == "4"


def test_new_token_refused_too():
    """One new login per request; then silence for 30 s, or the list of 100 tokens fills up."""
    with connected() as (device, client, clock):
        device.add(*[MISSING] * 9, path="ltm/pool")
        for passed_s, logins in ((0, 2), (29, 2), (2, 4)):
            clock.now += passed_s
            with pytest.raises(AuthFailed, match="does not exist"):
                client.get("ltm/pool")
            assert device.logins == logins


def test_right_missing():
    """A refusal of the role is no matter of the token: no login, no silence, no pause."""
    with connected() as (device, client, clock):
        device.add(NO_RIGHT, path="ltm/pool")
        with pytest.raises(AuthFailed, match="resource=/mgmt/tm/ltm/pool verb=POST"):
            client.post("ltm/pool", {})
        assert not clock.waits
        client.post("ltm/pool", {})
        assert device.logins == 1
        assert len(device.sent("POST", "ltm/pool")) == 2


@pytest.mark.parametrize("auth", ["token", "basic"])
def test_sporadic_refusal(auth):
    """Some versions lose the credentials at times: the same again, a little later."""
    with connected(auth=auth) as (device, client, clock):
        device.add(*[SPORADIC] * 3, path="ltm/pool")
        client.patch("ltm/pool/x", {"a": 1})
        assert clock.waits == [0.5, 1.0, 1.5]
        assert len(device.sent("PATCH")) == 4
        assert device.logins == (auth == "token")


def test_lasting_sporadic_refusal():
    """In the end it is a refusal, but of no password."""
    with connected(auth="basic") as (device, client, _):
        device.add(*[SPORADIC] * 4, path="ltm/pool")
        with pytest.raises(AuthFailed, match="no user authentication header"):
            client.get("ltm/pool")
        client.get("ltm/pool")


@pytest.mark.parametrize(("auth", "path", "refusal", "words"), [
    pytest.param("token", LOGIN, WRONG_PASSWORD, "Authentication failed.", id="token"),
    pytest.param("token", LOGIN, WRONG_BASIC, "401 Unauthorized", id="token, Apache"),
    pytest.param("basic", "ltm/pool", WRONG_BASIC, "401 Unauthorized", id="basic"),
])
def test_refused_login(auth, path, refusal, words):
    """For 30 s the device is not asked again, whatever is called; then it is."""
    with connected(auth=auth) as (device, client, clock):
        device.add(refusal, path=path)
        for _ in range(3):
            with pytest.raises(LoginRefused, match=words) as caught:
                client.get("ltm/pool")
            with pytest.raises(LoginRefused) as again:
                client.delete("ltm/pool/x")
            assert str(again.value) == str(caught.value)
            clock.now += 9.9
        assert len(device.requests) == 1
        assert not clock.waits
        clock.now += 0.4
        client.get("ltm/pool")
        assert len(device.requests) == (3 if auth == "token" else 2)


@pytest.mark.parametrize("refusal", [
    pytest.param(Answer(403, {"message": "Forbidden"}), id="403"),
    pytest.param(Answer(403, "<html><title>403 Forbidden</title></html>"), id="page"),
    pytest.param(Answer(409, {"message": "Conflict"}), id="409"),
    pytest.param(TOKEN_LIMIT, id="token limit"),
])
def test_a_login_that_is_refused_for_another_reason(refusal):
    """It is repeated after a second, then ever more rarely; one that is accepted ends that."""
    with connected() as (device, client, clock):
        for pauses in ((1, 2, 4, 8, 16, 30, 30), (1,)):
            device.add(*[refusal] * len(pauses), path=LOGIN)
            for pause_s in pauses:
                before = device.logins
                for wait_s in (0.0, pause_s - 0.1):
                    clock.now += wait_s
                    with pytest.raises(AuthFailed) as caught:
                        client.get("ltm/pool")
                    assert type(caught.value) is (TokenLimit if refusal is TOKEN_LIMIT else AuthFailed)
                assert device.logins == before + 1
                clock.now += 0.1
            client.get("ltm/pool")
            clock.now += DEFAULT_LIFE_S


@pytest.mark.parametrize(("auth", "path", "refusal", "words"), [
    pytest.param("token", LOGIN, WRONG_PASSWORD, "Authentication failed.", id="token"),
    pytest.param("token", LOGIN, WRONG_BASIC, "401 Unauthorized", id="token, Apache"),
    pytest.param("basic", "ltm/pool", WRONG_BASIC, "401 Unauthorized", id="basic"),
])
def test_refused_login_names_user_and_settings(auth, path, refusal, words):
    """An operator sees at once which of the settings is wrong."""
    for fields, where in (({}, "--f5-username and --f5-password"),
                          ({"login_from": "/etc/user and /etc/word"}, "/etc/user and /etc/word")):
        with connected(auth=auth, **fields) as (device, client, _):
            device.add(refusal, path=path)
            with pytest.raises(AuthFailed) as caught:
                client.get("ltm/pool")
        assert caught.value.text == f"user 'router' or its password is refused, see {where}: {words}"


def test_token_limit_says_how_to_fix_it():
    """The message has the command, and is not cut."""
    with connected() as (device, client, _):
        device.add(TOKEN_LIMIT, path=LOGIN)
        with pytest.raises(AuthFailed) as caught:
            client.get("ltm/pool")
    assert caught.value.text.endswith(
        f"curl -u USER -X DELETE https://127.0.0.1:{device.port}/mgmt/shared/authz/tokens")
    assert caught.value.status == 400


def test_no_login_end_point(caplog):
    """11.5 has none: basic authentication, said once."""
    with connected() as (device, client, clock):
        device.add(NO_LOGIN, NO_LOGIN, path=LOGIN)
        client.get("ltm/pool")
        client.post("ltm/pool", {})
        assert device.logins == 1
        # Refused: perhaps it was only starting, so the login is tried again.
        device.add(WRONG_BASIC, path="ltm/pool")
        with pytest.raises(AuthFailed):
            client.get("ltm/pool")
        clock.now += 31
        client.get("ltm/pool")
        assert device.logins == 2
    used = ["Authorization" in r.headers for r in device.sent(path="ltm/pool")]
    assert used == [True] * 4
    said = [r for r in caplog.records if "basic authentication" in r.message and r.levelno >= logging.INFO]
    assert len(said) == 1


@pytest.mark.parametrize(("auth", "warnings"), [("token", 1), ("basic", 0)])
def test_version_without_token_writes(auth, warnings, caplog):
    """11.6 has a login end point, but basic authentication it stays, also after a refusal."""
    version = {"entries": {"u": {"nestedStats": {"entries": {"Version": {"description": "11.6.0"}}}}}}
    with connected(auth=auth) as (device, client, clock):
        device.add(Answer(body=version), path="sys/version")
        client.version()
        device.add(WRONG_BASIC, path="ltm/pool")
        with pytest.raises(AuthFailed):
            client.get("ltm/pool")
        clock.now += 31
        client.get("ltm/pool")
        assert device.logins == warnings
        assert all("Authorization" in r.headers for r in device.sent(path="ltm/pool"))
    assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == warnings


@pytest.mark.parametrize(("answer", "kind"), [
    pytest.param(STARTING, NotReady, id="not registered"),
    pytest.param(Answer(503, "<html><title>BIG-IP - restarting...</title>"), NotReady, id="page"),
    pytest.param(Answer(404, "<html><title>404 Not Found</title>"), Unsupported, id="no REST"),
    pytest.param(Answer(400, {"message": "Found invalid JSON body"}), AuthFailed, id="refused"),
    pytest.param(Answer(404, {"message": "Object not found"}), AuthFailed, id="not found"),
    pytest.param(Answer(404, {"message": "Object not found", "errorStack": 7}), AuthFailed, id="odd stack"),
    pytest.param(Answer(200, "<html>log in here</html>"), NotReady, id="page with 200"),
    pytest.param(Answer(200, {}), NotReady, id="no token"),
    pytest.param(Answer(200, {"token": "x"}), NotReady, id="token of another form"),
    pytest.param(Answer(200, login("x\r\ny")), NotReady, id="token that breaks the header"),
    pytest.param(Answer(200, login("")), NotReady, id="empty token"),
    pytest.param(Answer(302, b"", {"Location": "https://other/x?secret"}), Unsupported, id="redirect"),
    pytest.param(Answer(fault="close"), Unreachable, id="closed"),
])
def test_failed_login(answer, kind):
    """Other failures are the device's; a write behind them was not sent, so it is not may_have_applied."""
    with connected(retry_s=0) as (device, client, clock):
        device.add(answer, path=LOGIN)
        with pytest.raises(kind) as caught:
            client.post("ltm/pool", {})
        assert type(caught.value) is kind
        assert not caught.value.may_have_applied
        assert caught.value.path == LOGIN
        clock.now += 31
        client.post("ltm/pool", {})
        assert len(device.sent(path="ltm/pool")) == 1
        assert device.logins == 2


def test_close():
    """The token is deleted with itself; threads that still read then are told, and make no other token."""
    with connected() as (device, client, _):
        client.get("ltm/pool")
        client.close()
        assert device.requests[-1].method == "DELETE"
        assert device.requests[-1].path == "/mgmt/shared/authz/tokens/TOKEN" + "1".zfill(21)
        with pytest.raises(Stopped):
            client.get("ltm/pool")
        client.close()
    assert len(device.sent("DELETE")) == 1


def test_close_without_device():
    """Nothing is sent without a token; a device that is gone does not matter."""
    with connected() as (device, client, _):
        client.close()
        assert not device.requests
    with connected() as (device, client, _):
        client.get("ltm/pool")
        device.add(Answer(fault="close"), method="DELETE")
        client.close()


@pytest.mark.parametrize(("item", "life_s"), [
    ({"lastUpdateMicros": 1533135937678293, "expirationMicros": 1533137137679000, "timeout": 9}, 1200.000707),
    ({"timeout": 36000}, 36000),
    ({"timeout": "36000"}, 36000),
    ({}, 1200),
    ({"lastUpdateMicros": 0, "expirationMicros": 1533137137679000, "timeout": 300}, 300),
    ({"lastUpdateMicros": 7, "expirationMicros": 7, "timeout": 0}, 1200),
    ({"lastUpdateMicros": None, "expirationMicros": "x", "timeout": []}, 1200),
    ({"lastUpdateMicros": 5, "expirationMicros": float("nan"), "timeout": float("inf")}, 1200),
    ({"lastUpdateMicros": 5, "expirationMicros": float("inf"), "timeout": 60}, 60),
])
def test_token_life(item, life_s):
    """By the difference of the device's own two times, if that is possible."""
    assert token_life_s(item) == pytest.approx(life_s)
