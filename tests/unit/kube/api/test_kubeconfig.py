"""kubeconfig.py: no certificate or key of a kubeconfig is left in a file, however the process ends."""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from f5router.kube.api.connection import connect
from f5router.kube.api.memory_files import MemoryFiles
from f5router.kube.settings import KubeSettings
from f5router.model.errors import ConfigError
from tests.builders import identity

OWN = identity("router.example.com")
CLIENT = """
import sys
from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.model.errors import ConfigError, KubeUnauthorized
try:
    connection = connect(KubeSettings(kubeconfig=sys.argv[1]))
    connection.request("GET", "/apis/route.openshift.io/v1/routes")
except KubeUnauthorized:  # the fake API server knows tokens only; TLS took certificate and key
    pass
except ConfigError as exc:
    print(exc, flush=True)
print("connected", flush=True)
sys.stdin.read()
"""


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def inline(user: dict, folder: Path) -> None:
    user["client-certificate-data"], user["client-key-data"] = encoded(OWN.certificate), encoded(OWN.key)


def files(user: dict, folder: Path) -> None:
    """Paths relative to the kubeconfig."""
    (folder / "own.crt").write_text(OWN.certificate)
    (folder / "own.key").write_text(OWN.key)
    user["client-certificate"], user["client-key"] = "own.crt", "own.key"


def plugin(user: dict, folder: Path) -> None:
    """A command that returns a client certificate."""
    answer = folder / "answer"
    answer.write_text(json.dumps({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"clientCertificateData": OWN.certificate, "clientKeyData": OWN.key}}))
    user["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": [str(answer)],
                    "interactiveMode": "Never"}


def edited(kubeconfig: str, change: Callable[[dict, Path], None]) -> str:
    content = yaml.safe_load(Path(kubeconfig).read_text())
    user = content["users"][0]["user"]
    user.clear()
    change(user, Path(kubeconfig).parent)
    Path(kubeconfig).write_text(yaml.safe_dump(content))
    return kubeconfig


@pytest.fixture
def temporary(tmp_path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def killed(kubeconfig: str, temporary: Path) -> str:
    """Have a process connect, and kill it; returns the first line that it wrote."""
    process = subprocess.Popen([sys.executable, "-c", CLIENT, kubeconfig], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=os.environ | {"TMPDIR": str(temporary)})
    with process:
        first = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        return first


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("change", [inline, files, plugin], ids=lambda change: change.__name__)
def test_nothing_is_left_of_a_killed_process(kubeconfig, temporary, change):
    """The authority of the cluster is inline in each."""
    assert killed(edited(kubeconfig, change), temporary) == "connected\n"
    assert left(temporary) == []


def test_what_was_left_goes_with_the_next_start(kubeconfig, temporary):
    """A process that was killed while its plugin's key was in a file."""
    folder = temporary / f"f5router-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    (folder / "tmpkey").write_text(OWN.key)
    assert killed(edited(kubeconfig, plugin), temporary) == "connected\n"
    assert left(temporary) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_folder_of_another(kubeconfig, temporary):
    """One that others may read is not used."""
    folder = temporary / f"f5router-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    assert f"{folder} belongs to another user" in killed(edited(kubeconfig, plugin), temporary)
    assert left(temporary) == []


def test_a_link_in_place_of_the_folder(kubeconfig, temporary, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (temporary / f"f5router-{os.geteuid()}").symlink_to(elsewhere)
    assert "Not a directory" in killed(edited(kubeconfig, plugin), temporary)
    assert left(elsewhere) == []


def test_no_place_for_temporary_files(kube, kubeconfig, monkeypatch):
    """A plugin that returns a token works all the same."""
    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("tempfile.gettempdir", none)

    def token(user: dict, folder: Path) -> None:
        plugin(user, folder)
        (folder / "answer").write_text(json.dumps({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": {"token": kube.token}}))

    assert connect(KubeSettings(kubeconfig=edited(kubeconfig, token))).request("GET", "/api/v1/services")


@pytest.mark.parametrize("data", ["%", encoded("no PEM")], ids=["no base64", "no PEM"])
def test_bad_data(kubeconfig, data):
    def change(user: dict, folder: Path) -> None:
        user["client-certificate-data"], user["client-key-data"] = encoded(OWN.certificate), data

    with pytest.raises(ConfigError):
        connect(KubeSettings(kubeconfig=edited(kubeconfig, change)))


def test_memory_files():
    """One file for equal contents, readable again and again; closed with the object."""
    kept = MemoryFiles()
    paths = [kept.path(content) for content in (b"a", b"b", b"a")]
    assert [Path(path).read_bytes() for path in paths * 2] == [b"a", b"b", b"a"] * 2
    assert paths[0] == paths[2]
    del kept
    assert not any(os.path.exists(path) for path in set(paths))
