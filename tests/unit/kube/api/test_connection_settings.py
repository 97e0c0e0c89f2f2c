"""connection.py: kubeconfig files, ServiceAccounts and other settings."""

import base64
import json
import os
import traceback
from pathlib import Path

import pytest
import yaml
from kubernetes.config import incluster_config

from f5router.kube.api.connection import Connection, connect
from f5router.kube.api.credentials import PERIOD_S, CredentialFiles
from f5router.kube.settings import KubeSettings
from f5router.model.errors import (
    ConfigError,
    KubeUnauthorized,
    KubeUnreachable,
)
from tests.builders import identity
from tests.rows import rows
from tests.unit.kube.api.test_connection import ROUTES, SECRET_LIKE
from tests.waiting import DEADLINE_S


@pytest.fixture
def pod(kube, tmp_path, monkeypatch) -> Path:
    """The files and variables of a pod with a service account; the token file is returned."""
    token = tmp_path / "token"
    token.write_text(kube.token)
    host, port = kube.url.removeprefix("https://").split(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", kube.ca_file)
    return token


def edited(kubeconfig: str, change) -> str:
    """The kubeconfig after change(cluster, user)."""
    content = yaml.safe_load(Path(kubeconfig).read_text())
    change(content["clusters"][0]["cluster"], content["users"][0]["user"])
    Path(kubeconfig).write_text(yaml.safe_dump(content))
    return kubeconfig


def works(**settings) -> bool:
    """True if a list of Routes is answered."""
    connection = connect(KubeSettings(connect_timeout_s=DEADLINE_S, read_timeout_s=DEADLINE_S, **settings))
    reply = connection.request("GET", ROUTES)
    return reply["kind"] == "RouteList"


# -- settings

def test_kubeconfig(kubeconfig):
    assert works(kubeconfig=kubeconfig)


def test_kubeconfig_of_the_environment(kubeconfig, monkeypatch):
    """Missing files of the list are passed over, as kubectl does."""
    monkeypatch.setenv("KUBECONFIG", f"/nonexistent:{kubeconfig}")
    assert works()


def test_kubeconfig_of_the_home_directory(kube, tmp_path):
    (tmp_path / ".kube").mkdir()
    kube.write_kubeconfig(tmp_path / ".kube" / "config")
    assert works()


def test_service_account(pod):
    assert works()


def test_token_is_exchanged(kube, pod):
    """A service account's token is replaced while the router runs."""
    connection = connect(KubeSettings())
    connection.request("GET", ROUTES)
    kube.token = "the next one"
    pod.write_text(kube.token)
    kube.clear_log()
    assert connection.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == [401, 200]


def test_token_file_with_a_line_break(kube, pod):
    """At its end it is left out; inside, nothing is sent, and the token is not told."""
    pod.write_text(kube.token + "\n")
    assert works()
    pod.write_text(f"{kube.token}\nmore")
    with pytest.raises(KubeUnreachable, match="line break") as caught:
        works()
    assert SECRET_LIKE not in str(caught.value)


@pytest.mark.parametrize(("status", "statuses"), [
    ({}, [401, 200]), ({"expirationTimestamp": "2000-01-01T00:00:00Z"}, [200])])
def test_exec_plugin(kube, kubeconfig, tmp_path, status, statuses):
    """Credentials from a command, which is run again after 401, or once its token expired."""
    answer = tmp_path / "answer"

    def credentials():
        answer.write_text(json.dumps({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": {"token": kube.token, **status}}))

    def use_command(cluster, user):
        user.clear()
        user["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": "cat",
                        "args": [str(answer)], "interactiveMode": "Never"}

    credentials()
    connection = connect(KubeSettings(kubeconfig=edited(kubeconfig, use_command)))
    assert connection.request("GET", ROUTES)
    kube.token = "the next one"
    credentials()
    kube.clear_log()
    assert connection.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == statuses


def test_master_replaces_the_server(kube, kubeconfig):
    def point_elsewhere(cluster, user):
        cluster["server"] = "https://127.0.0.1:1"

    edited(kubeconfig, point_elsewhere)
    assert works(kubeconfig=kubeconfig, master=kube.url)


def test_master_stays_after_a_refresh(kube, pod, monkeypatch):
    """The package sets the host back when it re-reads the token."""
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    connection = connect(KubeSettings(master=kube.url))
    assert connection.request("GET", ROUTES)
    assert connection.request("GET", ROUTES)
    assert connection.server == kube.url


def garbage(content):
    user = content["users"][0]["user"]
    user["client-certificate-data"] = user["client-key-data"] = base64.b64encode(b"no PEM").decode()


def no_server(content):
    cluster = content["clusters"][0]["cluster"]
    cluster["certificate-authority"] = "/nonexistent"
    del cluster["certificate-authority-data"]


def of(field: str, value):
    """Return a change of a field of the whole file."""
    return lambda content: content.__setitem__(field, value)


def in_cluster(**fields):
    return lambda content: content["clusters"][0]["cluster"].update(fields)


def in_user(**fields):
    return lambda content: content["users"][0].update(fields)


CONTEXT, CLUSTER = "kubeconfig FILE: the context 'fake'", "kubeconfig FILE: the cluster of the context 'fake'"
NO_URL = f"{CLUSTER} has no server that is a URL, such as https://master.example.com:8443"


@rows(("content", "message"), [
    pytest.param("a: 1\n]", "kubeconfig FILE: it is not YAML, at line 2, column 1", id="no YAML"),
    pytest.param("\x01", "kubeconfig FILE: it is not YAML", id="a character of control"),
    pytest.param("- a", "kubeconfig FILE: it has no clusters, contexts and users, but something else",
                 id="a list"),
    pytest.param("a", "kubeconfig FILE: it has no clusters, contexts and users, but something else",
                 id="a text"),
    pytest.param("", "kubeconfig FILE: it is empty", id="empty"),
    pytest.param("a: 1", "kubeconfig FILE: it has no current-context: choose a context with --context",
                 id="no current context"),
    pytest.param("current-context: x", "kubeconfig FILE: there is no context 'x' in it, and no other",
                 id="no contexts"),
    pytest.param(of("current-context", "x"), "kubeconfig FILE: there is no context 'x' in it: it has fake",
                 id="another context"),
    pytest.param(of("contexts", "x"), "kubeconfig FILE: contexts is not a list", id="contexts"),
    pytest.param(of("users", [{"user": {}}]), "kubeconfig FILE: users[0] has no name", id="no name"),
    pytest.param(of("users", [5]), "kubeconfig FILE: users[0] has no name", id="a number"),
    pytest.param(of("contexts", [{"name": "fake"}]), f"{CONTEXT} is empty", id="context"),
    pytest.param(of("clusters", []), f"{CLUSTER} is not in it, or is empty", id="no cluster"),
    pytest.param(in_cluster(server=7), NO_URL, id="a number as server"),
    pytest.param(in_cluster(server=""), NO_URL, id="no server"),
    pytest.param(in_cluster(server="https://a:x"), NO_URL, id="port"),
    pytest.param(in_user(user=None), "kubeconfig FILE: the user of the context 'fake' is empty", id="user"),
    pytest.param(garbage, "certificates for SERVER: client-certificate and client-key are not in PEM, or do "
                          "not belong together", id="client certificate"),
    pytest.param(in_cluster(**{"certificate-authority-data": "bm8="}),
                 "certificates for SERVER: certificate-authority is no file of PEM certificates",
                 id="authority"),
    pytest.param(no_server, "FILE: File does not exist: /nonexistent", id="missing authority"),
])
def test_bad_kubeconfig(kubeconfig, kube, content, message):
    """Told at the start, without the content, and in other words than those of the libraries."""
    before = Path(kubeconfig).read_text()
    if isinstance(content, str):
        Path(kubeconfig).write_text(content)
    else:
        changed = yaml.safe_load(before)
        content(changed)
        Path(kubeconfig).write_text(yaml.safe_dump(changed))
    try:
        with pytest.raises(ConfigError) as caught:
            connect(KubeSettings(kubeconfig=kubeconfig))
    finally:
        Path(kubeconfig).write_text(before)
    assert str(caught.value).replace(kubeconfig, "FILE").replace(kube.url, "SERVER") == message
    assert SECRET_LIKE not in str(caught.value)


@pytest.mark.parametrize(("settings", "words"), [
    pytest.param({"kubeconfig": "/nonexistent"}, "does not exist", id="missing file"),
    pytest.param({}, "API server is unknown", id="nothing"),
])
def test_no_configuration(settings, words):
    with pytest.raises(ConfigError, match=words):
        connect(KubeSettings(**settings))


def test_unknown_context(kubeconfig):
    with pytest.raises(ConfigError, match="nowhere"):
        connect(KubeSettings(kubeconfig=kubeconfig, context="nowhere"))


def test_proxy_of_the_environment(kubeconfig, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(KubeUnreachable, match=r"the proxy .* gave no connection"):
        works(kubeconfig=kubeconfig)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert works(kubeconfig=kubeconfig)


@pytest.mark.parametrize("url",
                         ["http://u:secret@127.0.0.1:99999", "http://u:secret@[bad", "foo://u:secret@h"])
def test_a_proxy_that_cannot_be_used(kubeconfig, monkeypatch, url):
    """The reason is without the URL, in which a password may be."""
    monkeypatch.setenv("HTTPS_PROXY", url)
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as caught:
        connect(KubeSettings(kubeconfig=kubeconfig))
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_another_authority(kubeconfig, kube):
    """A server whose certificate is not trusted gets no token."""
    from mocks.kube import FakeKube

    with FakeKube() as stranger, pytest.raises(KubeUnreachable, match="is not trusted"):
        works(kubeconfig=kubeconfig, master=stranger.url)
    assert stranger.log == []


# -- files that change


@pytest.fixture
def connection(kubeconfig, clock):
    """A connection with a clock of its own, and a first request."""
    ours = Connection(CredentialFiles(KubeSettings(kubeconfig=kubeconfig)), KubeSettings(), clock=clock)
    assert ours.request("GET", ROUTES)
    return ours


def test_changed_kubeconfig(kube, kubeconfig, connection, clock):
    """It is used without a request that was refused."""
    def change(cluster, user):
        user["token"] = kube.token = "the next one"

    edited(kubeconfig, change)
    clock.now += PERIOD_S
    kube.clear_log()
    assert connection.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == [200]


@pytest.mark.parametrize(("spoil", "words"), [
    pytest.param(lambda path: path.write_text("clusters: [{cluster: {ser"), "kubeconfig", id="half written"),
    pytest.param(lambda path: path.unlink(), "does not exist", id="missing"),
    pytest.param(lambda path: edited(path, lambda cluster, user: cluster.update(server="https://other:1")),
                 "they are for the server https://other:1", id="another cluster"),
    pytest.param(lambda path: edited(path, lambda cluster, user: cluster.update(
        {"certificate-authority-data": base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()})),
        "certificates", id="a broken authority"),
])
def test_changed_kubeconfig_that_cannot_be_used(kube, kubeconfig, connection, clock, caplog, spoil, words):
    """It leaves what was read before in use, with one message."""
    before = Path(kubeconfig).read_text()
    spoil(Path(kubeconfig))
    for _ in range(3):
        clock.now += PERIOD_S
        assert connection.request("GET", ROUTES)
    (record,) = caplog.records
    assert record.getMessage() == "changed credentials for the API server"
    assert words in record.problem
    assert SECRET_LIKE not in record.problem
    Path(kubeconfig).write_text(before)
    clock.now += PERIOD_S
    assert connection.request("GET", ROUTES)
    assert {entry.status for entry in kube.log} == {200}


@pytest.fixture
def token_file(kubeconfig, kube, tmp_path) -> Path:
    """The kubeconfig names a file for its token, relative to itself."""
    token = tmp_path / "token"
    token.write_text(kube.token)

    def change(cluster, user):
        user.clear()
        user["tokenFile"] = os.path.relpath(token, Path(kubeconfig).parent)

    edited(kubeconfig, change)
    return token


@pytest.mark.parametrize("content", ["", " \n", None])
def test_a_token_file_that_is_empty_at_the_start(kubeconfig, token_file, content):
    """Nobody asks as system:anonymous."""
    if content is None:
        token_file.unlink()
    else:
        token_file.write_text(content)
    with pytest.raises(ConfigError, match="token"):
        connect(KubeSettings(kubeconfig=kubeconfig))


@pytest.mark.parametrize("where", ["kubeconfig", "pod"])
def test_a_token_file_that_changes(kube, clock, caplog, request, where):
    """It is used without a request that was refused; an empty one leaves the old token in use."""
    file = request.getfixturevalue("token_file" if where == "kubeconfig" else "pod")
    path = request.getfixturevalue("kubeconfig") if where == "kubeconfig" else None
    settings = KubeSettings(kubeconfig=path)
    ours = Connection(CredentialFiles(settings), settings, clock=clock)
    for content in ("", None, " "):
        if content is None:
            file.unlink()
        else:
            file.write_text(content)
        clock.now += PERIOD_S
        assert ours.request("GET", ROUTES)
    assert "what was read before stays" in caplog.records[-1].problem
    kube.token = "the next one"
    file.write_text(kube.token)
    clock.now += PERIOD_S
    assert ours.request("GET", ROUTES)
    assert {entry.status for entry in kube.log} == {200}


def test_nobody_in_particular(kube, kubeconfig):
    """403 for system:anonymous is a lost login: the credentials are read again, as after 401."""
    ours = connect(KubeSettings(kubeconfig=kubeconfig))
    kube.token = "the next one"
    edited(kubeconfig, lambda cluster, user: user.update(token=kube.token))
    kube.inject("403", times=1, message='routes is forbidden: User "system:anonymous" cannot list resource')
    assert ours.request("GET", ROUTES)
    assert [entry.status for entry in kube.log] == [403, 200]
    kube.inject("403", times=2, message='routes is forbidden: User "system:anonymous" cannot list resource')
    with pytest.raises(KubeUnauthorized, match="the credentials are missing"):
        ours.request("GET", ROUTES)


def test_changed_authority(pod, kube, clock, tmp_path, monkeypatch):
    """A new connection trusts the authorities that the file has by now, and none that is half written."""
    ca = tmp_path / "ca.crt"
    right = Path(kube.ca_file).read_text()
    ca.write_text(right)
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(ca))
    ours = Connection(CredentialFiles(KubeSettings()), KubeSettings(), clock=clock)
    ca.write_text(right[:-40])
    clock.now += PERIOD_S
    assert ours.request("GET", ROUTES)
    ca.write_text(identity(ca="Another").issuer)
    clock.now += PERIOD_S
    with pytest.raises(KubeUnreachable, match="is not trusted"):
        ours.request("GET", ROUTES)
    ca.write_text(right)
    clock.now += PERIOD_S
    assert ours.request("GET", ROUTES)
