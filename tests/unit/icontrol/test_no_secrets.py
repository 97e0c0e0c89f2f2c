"""f5router.icontrol: neither password nor token nor key leaves by an exception or a log line."""

import base64
import json
import logging

import pytest

from f5router.model.errors import BigIPError
from tests.unit.icontrol.scripted import PASSWORD, USER, Answer, connected

PEM = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\nAgEGCCqGSM49AwEHBG0w\n-----END PRIVATE KEY-----\n"
LINE = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0XGSM4/+QHfAAbc9"
LOST = Answer(fault="close")


def everything(error: BaseException):
    """Every text in an exception, its attributes, and all that hangs on it."""
    seen, todo = set(), [error]
    while todo:
        link = todo.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield from (str(link), repr(link), *map(repr, link.args), repr(vars(link)))
        assert not hasattr(link, "request")
        inner = (*link.args, *vars(link).values(), link.__cause__, link.__context__)
        todo += [each for each in inner if isinstance(each, BaseException)]


def reachable(obj: object, seen: set[int]):
    """An object of ours, and those that hang on it."""
    if id(obj) in seen or not type(obj).__module__.startswith("f5router."):
        return
    seen.add(id(obj))
    yield obj
    slots = [name for kind in type(obj).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in (*getattr(obj, "__dict__", ()), *slots):
        yield from reachable(getattr(obj, name), seen)


def secrets_in(error: BaseException, *more: str):
    """Texts of an exception that hold the password, a token or key material."""
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    forms = (PASSWORD, json.dumps(PASSWORD)[1:-1], pair, "TOKEN0", "MIGH", "AgEGCC", *more)
    return [text for text in everything(error) if any(form in text for form in forms)]


ECHO = {"username": USER, "password": PASSWORD, "key": PEM}
"""A request body full of secrets, for a device that echoes it."""

LEAKS = {
    "message": Answer(400, {"message": f"bad {PASSWORD} {PEM} in the body"}),
    "escaped": Answer(400, {"message": json.dumps(ECHO)}),
    "request body": Answer(400, {"code": 400, "originalRequestBody": json.dumps(ECHO)}),
    "page": Answer(500, f"<html><title>pa&quot;ss&lt;w&ouml;rd {PASSWORD}</title>{PEM}</html>"),
    "text": Answer(500, f"{PEM} {PASSWORD}"),
    "basic": Answer(400, {"message": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}),
    "token": Answer(400, {"message": "token " + "TOKEN" + "1".zfill(21)}),
    "cut": Answer(400, {"message": "x" * 200 + PEM}),
    "line": Answer(400, {"message": f"01070712:3: cannot read {LINE} of the file"}),
    "200": Answer(200, f"{PEM} {PASSWORD}"),
    "lost": LOST,
    "cut off": Answer(200, {"message": PASSWORD}, fault="cut"),
    "bad header": Answer(200, headers={"Content-Encoding": "gzip"}),
    "refused": Answer(401, {"message": f"Authorization failed: user={PASSWORD}"}),
}


@pytest.mark.parametrize(("path", "name"), [
    (path, name) for path in ("ltm/rule", "/authn/login", "/uploads/") for name in LEAKS
    if (path, name) != ("/authn/login", "token")  # none was given yet
])
def test_no_secret_leaves(path, name, caplog):
    """Neither in the exception and what hangs on it, nor in any log line of any library."""
    caplog.set_level(logging.DEBUG)
    with connected(retry_s=0) as (device, client, clock):
        device.add(*[LEAKS[name]] * 9, path=path)
        call = (lambda: client.upload("a", PEM.encode())) if path == "/uploads/" else (
            lambda: client.post("ltm/rule", ECHO))
        with pytest.raises(BigIPError) as caught:
            call()
        assert not secrets_in(caught.value)
        device.clear()
        clock.now += 1190  # a renewal deletes the old token, whose path is logged by urllib3
        client.get("ltm/pool")
    logged = caplog.text + repr([vars(record) for record in caplog.records])  # with what is in `extra`
    assert "/mgmt/shared/authz/tokens/*" in logged
    for secret in (PASSWORD, json.dumps(PASSWORD)[1:-1], "TOKEN0", "MIGH", "AgEGCC"):
        assert secret not in logged


def test_no_secret_in_representations():
    """Objects that stay in memory show no secret."""
    with connected() as (_, client, _):
        client.get("ltm/pool")
        kept = list(reachable(client, set()))
        kinds = {type(obj).__name__ for obj in kept}
        assert kinds >= {"Client", "Session", "Token", "Basic", "ClientSettings"}
        assert not [obj for obj in kept if any(s in repr(obj) for s in (PASSWORD, "TOKEN0", "cm91dGVy"))]
