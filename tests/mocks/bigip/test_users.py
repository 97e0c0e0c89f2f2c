"""Accounts made over REST: they log in, may do what their role allows, and use the shell if they have one."""

import paramiko
import pytest

from mocks.bigip import FakeBigIP

ROUTER = {"name": "router", "password": "its-password", "shell": "bash",
          "partitionAccess": [{"name": "all-partitions", "role": "admin"}]}


def test_a_new_account_is_shown_without_its_password(client):
    account = client.ok("POST", "auth/user", ROUTER)
    assert account == client.ok("GET", "auth/user/router")
    assert (account["name"], account["fullPath"], account["shell"]) == ("router", "router", "bash")
    assert "its-password" not in str(account)
    assert [item["name"] for item in client.ok("GET", "auth/user")["items"]] == ["admin", "router"]
    assert client.refused("POST", "auth/user", ROUTER)[0] == 409


def test_it_logs_in(client):
    client.ok("POST", "auth/user", ROUTER)
    client.session.auth = ("router", "its-password")
    client.ok("POST", "ltm/pool", {"name": "p"})
    client.ok("PATCH", "auth/user/router", {"password": "another-one"})
    assert client.call("GET", "ltm/pool").status_code == 401
    client.session.auth = ("router", "another-one")
    client.ok("GET", "ltm/pool")


@pytest.mark.parametrize(("access", "read", "write"), [
    pytest.param([{"name": "all-partitions", "role": "guest"}], 200, 400, id="guest"),
    pytest.param([], 401, 401, id="none"),
])
def test_its_role_counts(client, access, read, write):
    client.ok("POST", "auth/user", {**ROUTER, "partitionAccess": access})
    client.session.auth = ("router", "its-password")
    assert client.call("GET", "ltm/pool").status_code == read
    assert client.call("POST", "ltm/pool", {"name": "p"}).status_code == write


def test_a_deleted_account_is_nobody(client):
    client.ok("POST", "auth/user", ROUTER)
    client.ok("DELETE", "auth/user/router")
    client.session.auth = ("router", "its-password")
    assert client.call("GET", "ltm/pool").status_code == 401
    client.session.auth = ("admin", client.big.password)
    assert client.refused("DELETE", "auth/user/admin")[0] == 400


@pytest.mark.parametrize(("shell", "let_in"), [("bash", True), ("tmsh", False), (None, False)])
def test_only_the_advanced_shell_takes_files(shell, let_in):
    """tmsh and none are other shells; the account admin has it."""
    with FakeBigIP(ssh=True) as big:
        fields = {"shell": shell} if shell else {}
        big.put_object("auth/user", {**{k: v for k, v in ROUTER.items() if k != "shell"}, **fields})
        assert logs_in(big, "admin", big.password)
        assert logs_in(big, "router", "its-password") is let_in
        assert not logs_in(big, "router", "wrong")
        assert not logs_in(big, "nobody", "its-password")


def logs_in(big: FakeBigIP, name: str, password: str) -> bool:
    with paramiko.Transport(("127.0.0.1", big.ssh_port)) as transport:
        try:
            transport.connect(username=name, password=password)
        except paramiko.AuthenticationException:
            return False
        return True
