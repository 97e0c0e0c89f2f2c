"""Files of the disk: commands on them, and objects that are made of them.

Source: bigip-behaviour.md B5 to B9.
"""

from __future__ import annotations

import pytest

from mocks.bigip import DiskFile
from tests.mocks.bigip.material import pair
from tests.mocks.bigip.test_objects import install


@pytest.mark.parametrize(("arguments", "result"), [
    ("/var/tmp", "a.key\nb\nsub\n"),
    ("/var/tmp/", "a.key\nb\nsub\n"),
    ("/var/tmp/b", "/var/tmp/b\n"),
    ("/var/config/rest/downloads", None),
    ("/nowhere", "/bin/ls: cannot access /nowhere: No such file or directory\n"),
])
def test_unix_ls(client, arguments, result):
    """One name a line; no result for an empty folder; the words of ls with 200 (f5-common-python)."""
    client.big.store.disk.update({f"/var/tmp/{name}": DiskFile(b"x") for name in ("b", "a.key", "sub/c")})
    client.big.clear_log()
    shown = client.ok("POST", "util/unix-ls", {"command": "run", "utilCmdArgs": arguments})
    assert shown["kind"] == "tm:util:unix-ls:runstate"
    assert shown.get("commandResult") == result
    assert client.big.writes() == []


@pytest.mark.parametrize(("version", "status", "words"), [
    ("11.6.0", 200, "/bin/ls: invalid option"), ("12.0.0", 400, "unix-ls does not support"),
])
def test_unix_ls_takes_no_options(device, version, status, words):
    _, client = device(version)
    reply = client.call("POST", "util/unix-ls", {"command": "run", "utilCmdArgs": "-9"})
    assert reply.status_code == status
    assert words in reply.text


@pytest.mark.parametrize("command", ["unix-ls", "unix-rm", "bash"])
def test_commands_on_the_disk_are_for_administrators(client, command):
    """As uploads are."""
    client.big.add_user("bob", "pw", "manager")
    client.session.auth = ("bob", "pw")
    status, words = client.refused("POST", f"util/{command}", {"command": "run", "utilCmdArgs": "/var/tmp"})
    assert (status, "Authorization failed: user=" in words) == (401, True)


def test_files_and_crypto(client):
    cert, key = pair("x")
    disk = client.big.store.disk
    disk["/var/tmp/x.cert"], disk["/var/tmp/x.key"] = DiskFile(cert), DiskFile(key, 0o600)
    for kind in ("cert", "key"):
        body = {"command": "install", "name": f"x-{kind}", "from-local-file": f"/var/tmp/x.{kind}"}
        client.ok("POST", f"sys/crypto/{kind}", body)
        client.ok("POST", f"sys/crypto/{kind}", {**body, "name": f"/P/x-{kind}"})
    assert client.ok("GET", "sys/file/ssl-cert/~Common~x-cert.crt")["revision"] == 2 - 1
    client.ok("POST", "ltm/profile/client-ssl", {"cert": "x-cert.crt", "key": "x-key.key", "name": "bare"})
    assert client.ok("GET", "ltm/profile/client-ssl/~Common~bare")["cert"] == "/Common/x-cert.crt"
    shown = client.ok("GET", "sys/crypto/cert/~P~x-cert.crt")
    assert (shown["fullPath"], shown["commonName"]) == ("/P/x-cert.crt", "x")
    disk["/var/tmp/bad"] = DiskFile(b"no PEM")
    for kind, name in (("ssl-cert", "b.crt"), ("ssl-key", "b.key")):
        assert (
            client.refused("POST", f"sys/file/{kind}", {"name": name, "sourcePath": "file:/var/tmp/bad"})[0]
            == 400
        )
    client.ok("POST", "util/bash", {"command": "run", "utilCmdArgs": "-c 'rm -f /var/tmp/bad /var/tmp/none'"})
    assert "/var/tmp/bad" not in disk
    shown = client.ok("POST", "util/unix-rm", {"command": "run", "utilCmdArgs": "/var/tmp/none"})
    assert "No such file" in shown["commandResult"]
    assert shown["commandResult"].startswith("/bin/rm: ")
    shown = client.ok("POST", "util/unix-rm", {"command": "run", "utilCmdArgs": "/var/tmp"})
    assert "Is a directory" in shown["commandResult"]
    client.ok("DELETE", "sys/file/ssl-key/~P~x-key.key")
    client.ok("DELETE", "sys/crypto/cert/~P~x-cert.crt")
    assert client.call("GET", "sys/file/ssl-cert/~P~x-cert.crt").status_code == 404


def test_a_pair_is_replaced_in_one_transaction_only(client):
    """Singly 01070317, together fine (bigip-behaviour.md A5)."""
    install(client, "a")
    client.ok(
        "POST", "ltm/profile/client-ssl", {"name": "c", "partition": "P", "cert": "a.crt", "key": "a.key"}
    )
    cert, key = pair("x", 2)
    disk = client.big.store.disk
    disk["/var/tmp/c"], disk["/var/tmp/k"] = DiskFile(cert), DiskFile(key)
    parts = (("sys/file/ssl-cert/~P~a.crt", "c"), ("sys/file/ssl-key/~P~a.key", "k"))
    for path, name in parts:
        assert client.refused("PATCH", path, {"sourcePath": f"file:/var/tmp/{name}"})[1].startswith(
            "01070317:3"
        )
    number = client.ok("POST", "transaction", {})["transId"]
    for path, name in parts:
        client.ok(
            "PATCH",
            path,
            {"sourcePath": f"file:/var/tmp/{name}"},
            headers={"X-F5-REST-Coordination-Id": str(number)},
        )
    assert client.ok("PATCH", f"transaction/{number}", {"state": "VALIDATING"})["state"] == "COMPLETED"
    assert client.ok("GET", "sys/file/ssl-cert/~P~a.crt")["revision"] == 2
