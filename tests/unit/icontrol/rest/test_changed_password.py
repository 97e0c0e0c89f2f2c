"""f5router.icontrol.rest.session while somebody changes the password: on the device, and in the files."""

import base64
import json

import pytest

from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import Login
from f5router.model.errors import LoginRefused
from tests.unit.icontrol.scripted import LOGIN, USER, WRONG_BASIC, WRONG_PASSWORD, running, settings_for


class Changing:
    """A login that somebody changes."""

    def __init__(self, password: str):
        self.password = password

    def get(self, *, now: bool = False) -> Login:
        return Login(USER, self.password)


def passwords(requests, auth: str) -> list[str]:
    """The password of each request that has one."""
    if auth == "token":
        return [json.loads(each.body)["password"] for each in requests if each.path == LOGIN]
    pairs = [each.headers["Authorization"].removeprefix("Basic ") for each in requests]
    return [base64.b64decode(pair).decode().partition(":")[2] for pair in pairs]


@pytest.mark.parametrize("auth", ["token", "basic"])
@pytest.mark.parametrize("refused", [2, 3])
def test_the_device_changes_between_two_tries(auth, refused):
    """The newest is tried again after the one before was refused, too, but not for ever."""
    logins = Changing("old")
    with running() as device, Client(settings_for(device.url, auth=auth), login=logins) as client:
        client.get("ltm/pool")
        logins.password = "new"
        refusal, path = (WRONG_PASSWORD, LOGIN) if auth == "token" else (WRONG_BASIC, "ltm/pool")
        device.add(*[refusal] * refused, path=path)
        if refused == 2:
            client.get("ltm/pool")
        else:
            with pytest.raises(LoginRefused):
                client.get("ltm/pool")
        assert passwords(device.requests, auth) == ["old", "new", "old", "new"]
