"""Where the API server is, and the credentials for it: a kubeconfig, or the files of a ServiceAccount.

The files are read again while the router runs. A client certificate that has expired, or an authority that is
no longer the server's, ends in failed handshakes, for which no reply asks for other credentials.
"""

import logging
import os
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client.configuration import Configuration
from kubernetes.config import incluster_config

from f5router.kube.api import kubeconfig
from f5router.kube.api.api_errors import excerpt
from f5router.kube.api.memory_files import MemoryFiles
from f5router.kube.settings import KubeSettings
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import ConfigError

KEEPALIVE = (
    *urllib3.connection.HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    # A firewall that drops an idle watch is noticed after 30 + 3 * 10 s.
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)

POOL_SIZE = 32
"""Idle connections kept: for a watch per kind and the writers."""

log = logging.getLogger(__name__)

PERIOD_S = 10.0
"""Period at which the files are read again."""


class CredentialFiles:
    """Reads the configuration of the connection, and knows when its files change. One thread uses it."""

    def __init__(self, settings: KubeSettings):
        self._settings, self._memory = settings, MemoryFiles()
        self._contents: dict[str, bytes | None] = {}
        """Content of the files in use; None for one that could not be read."""
        self._log = PersistentLog("changed credentials for the API server")

    def load(self, server: str = "") -> Configuration:
        """Read everything. Args: server: URL that it must have; "" for any.

        Raises: ConfigError: it cannot be used.
        """
        configuration, contents = _configuration(self._settings, self._memory)
        if server and configuration.host.rstrip("/") != server:
            # Perhaps only the current context of somebody's kubeconfig: the routes of another cluster.
            raise ConfigError([f"they are for the server {configuration.host}; restart the router to use it"])
        self._contents = contents
        return configuration

    def changed(self, server: str) -> Configuration | None:
        """Return the configuration if its files have changed and can be used. Args: as of load."""
        if _read(self._contents) == self._contents:
            self._log.update((), ())
            return None
        try:
            configuration = self.load(server)
        except ConfigError as exc:
            self._log.update((), (f"not used, what was read before stays: {exc}",))
            return None
        self._log.update((), ())
        log.info("using changed credentials for the API server")
        return configuration


def _read(paths: Iterable[str]) -> dict[str, bytes | None]:
    """Return the contents of files, None for a file that cannot be read."""
    def content(path: str) -> bytes | None:
        try:
            return Path(path).read_bytes()
        except OSError:
            return None
    return {path: content(path) for path in paths}


def _configuration(settings: KubeSettings,
                   files: MemoryFiles) -> tuple[Configuration, dict[str, bytes | None]]:
    """Read the configuration, and what its files hold. Raises: ConfigError."""
    result = Configuration()
    result.socket_options = list(KEEPALIVE)
    result.connection_pool_maxsize = POOL_SIZE
    source = settings.kubeconfig or os.environ.get("KUBECONFIG") or ""
    in_pod = os.path.exists(incluster_config.SERVICE_TOKEN_FILENAME)
    if not source and not in_pod and os.path.exists(os.path.expanduser("~/.kube/config")):
        source = "~/.kube/config"
    contents = _read(kubeconfig.paths(source))
    try:
        if source:
            merged = kubeconfig.read(source)
            kubeconfig.check(source, merged, settings.context, has_master=bool(settings.master))
            contents |= _read(kubeconfig.token_files(merged, settings.context))
            kubeconfig.load(result, merged, settings.context, files)
        elif in_pod:
            contents |= _read([incluster_config.SERVICE_TOKEN_FILENAME])
            kube_config.load_incluster_config(client_configuration=result, try_refresh_token=False)
            if not result.api_key["BearerToken"].removeprefix("bearer ").strip():
                raise ConfigError(["the token file of the service account is empty"])
        elif not settings.master:
            raise ConfigError(["no kubeconfig, no service account and no KUBERNETES_MASTER: the API "
                               "server is unknown"])
    except (kube_config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError,
            AttributeError) as exc:
        raise ConfigError([f"{source or 'service account'}: {_unusable(exc)}"]) from exc
    if settings.master:
        result.host = settings.master
    return result, contents | _certificates(result, files)


def _unusable(exc: BaseException) -> str:
    """Return why the kubernetes package cannot use a configuration; its own words name no class."""
    if isinstance(exc, kube_config.ConfigException):
        return excerpt(str(exc))
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.filename or 'a file'}: {exc.strerror}"
    return "a field has a value that cannot be used"


def _certificates(result: Configuration, files: MemoryFiles) -> dict[str, bytes | None]:
    """Keep the certificate files in memory, and return what they hold.

    The files may be written while a client reads them; and with the first request it is too late for a
    clear message. Raises: ConfigError: they cannot be used.
    """
    contents: dict[str, bytes | None] = {}
    context, fault = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ""
    try:
        for name in kubeconfig.PATHS:
            path = getattr(result, name)
            if path and not files.has(path):
                contents[path] = content = Path(path).read_bytes()
                setattr(result, name, files.path(content))
        if result.ssl_ca_cert:
            fault = "certificate-authority is no file of PEM certificates"
            context.load_verify_locations(result.ssl_ca_cert)
        if result.cert_file:
            fault = "client-certificate and client-key are not in PEM, or do not belong together"
            context.load_cert_chain(result.cert_file, result.key_file)
    except OSError as exc:  # ssl.SSLError too
        text = fault if isinstance(exc, ssl.SSLError) else f"{exc.filename or 'a file'}: {exc.strerror}"
        raise ConfigError([f"certificates for {result.host}: {text}"]) from exc
    return contents
