"""A fake API server per test, with an HTTP client, the kubernetes package's client and kubectl for it."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import kubernetes
import pytest
import requests

from mocks.kube import FakeKube
from tests.waiting import DEADLINE_S


class Http:
    """HTTP client with the token; paths below the server's URL."""

    def __init__(self, kube: FakeKube):
        self._kube = kube
        self.session = requests.Session()
        # Else REQUESTS_CA_BUNDLE of the environment replaces the server's authority.
        self.session.trust_env = False
        self.session.verify = kube.ca_file
        self.session.headers["Authorization"] = f"Bearer {kube.token}"

    def __call__(self, method: str, path: str, **options) -> requests.Response:
        options.setdefault("timeout", DEADLINE_S)
        return self.session.request(method, self._kube.url + path, **options)

    def get(self, path: str, **query: object) -> requests.Response:
        return self("GET", path, params=query)

    def patch(self, path: str, patch: object, *, form: str = "merge", **query: object) -> requests.Response:
        """Args: form: merge, json, strategic-merge."""
        headers = {"Content-Type": f"application/{form}-patch+json"}
        return self("PATCH", path, data=json.dumps(patch), headers=headers, params=query)

    def watch(self, path: str, **query: object) -> "Stream":
        return Stream(self("GET", path, params={"watch": "true", **query}, stream=True))


class Stream:
    """Events of a watch."""

    def __init__(self, response: requests.Response):
        self.response = response
        self._lines = response.iter_lines(chunk_size=None)

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> dict:
        return json.loads(next(self._lines))

    def next(self) -> tuple[str, str]:
        """Type and object name of the next event."""
        event = next(self)
        return event["type"], event["object"]["metadata"]["name"]

    def close(self) -> None:
        self.response.close()


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        yield server


@pytest.fixture
def http(kube: FakeKube) -> Iterator[Http]:
    client = Http(kube)
    yield client
    client.session.close()


@pytest.fixture
def api_client(kube: FakeKube, tmp_path: Path) -> Iterator[kubernetes.client.ApiClient]:
    """Client of the kubernetes package, from the kubeconfig that the server writes."""
    path = tmp_path / "config"
    kube.write_kubeconfig(path)
    with kubernetes.config.new_client_from_config(str(path)) as client:
        yield client


@pytest.fixture
def kubectl(kube: FakeKube, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Run kubectl against the server; its output is text.

    A missing kubectl fails the test; the environment variable KUBECTL gives its path, or ``none`` to skip.
    """
    wanted = os.environ.get("KUBECTL", "kubectl")
    if wanted == "none":
        pytest.skip("KUBECTL=none")
    program = shutil.which(wanted)
    if program is None:
        pytest.fail(
            f"no {wanted}: install the Debian package kubernetes-client, or set KUBECTL (path, or none)"
        )
    config = tmp_path / "kubectl-config"
    kube.write_kubeconfig(config)

    def run(*arguments: str, **options) -> subprocess.CompletedProcess:
        command = [program, f"--kubeconfig={config}", f"--cache-dir={tmp_path / 'cache'}", *arguments]
        return subprocess.run(command, text=True, capture_output=True, timeout=DEADLINE_S, **options)

    run.command = [program, f"--kubeconfig={config}", f"--cache-dir={tmp_path / 'cache'}"]
    return run
