"""Loads kubeconfig files, and keeps their certificates and keys in memory.

The kubernetes package passes paths of these to TLS. Inline ones it would write to the folder for temporary
files, and remove at the end of the process, which SIGKILL prevents.
"""

import base64
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from kubernetes import config as kube_config
from kubernetes.client.configuration import Configuration
from kubernetes.config.kube_config import ConfigNode, KubeConfigMerger

from f5router.kube.api import kubeconfig_check
from f5router.kube.api.memory_files import MemoryFiles
from f5router.model.errors import ConfigError

PATHS = ("ssl_ca_cert", "cert_file", "key_file")
"""Fields of a Configuration."""

_INLINE = {"cluster": ("certificate-authority",), "user": ("client-certificate", "client-key")}
"""Fields of a cluster and of a user for which a field with "-data" takes precedence."""


_LOGINS = {"token", "tokenFile", "exec", "auth-provider", "client-certificate", "client-key"}
"""Fields of a user by which the API server knows it."""


def paths(source: str) -> tuple[str, ...]:
    """Return the files of a path, or of several as in KUBECONFIG."""
    return tuple(os.path.expanduser(path) for path in source.split(os.pathsep) if path)


def read(source: str) -> ConfigNode:
    """Return the merged content of files. Args: source: a path, or several as in KUBECONFIG.

    Raises:
        ConfigError: there is no such file, or it is no kubeconfig.
        kube_config.ConfigException, and many others: a file is not valid.
    """
    present = [path for path in paths(source) if os.path.exists(path)]
    if not present:
        raise ConfigError([f"kubeconfig {source} does not exist"])
    for path in present:
        kubeconfig_check.check_file(path)
    merged: ConfigNode = KubeConfigMerger(source).config
    return merged


def check(source: str, merged: ConfigNode, context: str | None, *, has_master: bool) -> None:
    """Check the choice of a context. Args: has_master: see kubeconfig_check. Raises: ConfigError."""
    document = {name: [entry.value for entry in merged.value[name]] for name in kubeconfig_check.LISTS}
    document["current-context"] = merged.value.get("current-context")
    kubeconfig_check.check_choice(source, document, context, has_master=has_master)


def load(result: Configuration, merged: ConfigNode, context: str | None, files: MemoryFiles) -> None:
    """Fill a Configuration by what `read` has returned. Raises: as read."""
    for kind, fields in _INLINE.items():
        for entry in merged.value[f"{kind}s"]:
            _keep_in_memory(entry.value.get(kind), fields, files)
    _load(result, merged, context, files)


def _keep_in_memory(entry: object, fields: tuple[str, ...], files: MemoryFiles) -> None:
    """Replace inline certificates and keys of a cluster or user by paths."""
    for name in fields:
        if isinstance(entry, dict) and entry.get(f"{name}-data"):
            entry[name] = files.path(base64.b64decode(entry.pop(f"{name}-data")))


def token_files(merged: ConfigNode, context: str | None) -> tuple[str, ...]:
    """Return the file with the token of a context's user; () without one. Raises: as read."""
    user, folder = _user(merged, context)
    path = user.get("tokenFile")
    return (os.path.normpath(os.path.join(folder, path)),) if isinstance(path, str) and path else ()


def _user(merged: ConfigNode, context: str | None) -> tuple[Mapping[str, Any], str]:
    """Return the credentials of a context's user, and the folder in which relative paths begin.

    Source: k8s.io/client-go, tools/clientcmd, ResolveLocalPaths.
    """
    chosen = context or merged.value.get("current-context")
    names = [entry.value["context"].get("user") for entry in merged.value["contexts"]
             if entry.value.get("name") == chosen]
    for entry in merged.value["users"]:
        if names and entry.value.get("name") == names[0]:
            return entry.value.get("user") or {}, os.path.dirname(os.path.abspath(entry.path or ""))
    return {}, ""


def _check_login(result: Configuration, user: Mapping[str, Any]) -> None:
    """Check that credentials which a user names were found: nobody may become anonymous by an empty file.

    Raises: ConfigError: there are none.
    """
    _, _, token = (result.api_key.get("BearerToken") or "").strip().partition(" ")
    if not token.strip() and not result.cert_file and (named := sorted(_LOGINS & user.keys())):
        raise ConfigError([f"{', '.join(named)} of the kubeconfig's user: no token, or an empty one"])


def _load(result: Configuration, merged: ConfigNode, context: str | None, files: MemoryFiles) -> None:
    """Load it by the package. The key that a credential plugin returns is in a file for a moment.

    Only tokens of plugins and of providers expire. With any other the package would do nothing before each
    request but set the same fields again, the host with a search of the environment for its proxy.
    """
    plugin = _any_user_has(merged, "exec")
    with _private_folder() if plugin and _has_place() else nullcontext() as folder:
        kube_config.load_kube_config_from_dict(
            merged, context=context, client_configuration=result, persist_config=False, temp_file_path=folder)
        _check_login(result, _user(merged, context)[0])
        for name in PATHS:
            path = getattr(result, name)
            if path and folder and os.path.dirname(path) == folder:
                setattr(result, name, files.path(Path(path).read_bytes()))
    if not (plugin or _any_user_has(merged, "auth-provider")):
        result.refresh_api_key_hook = None


def _any_user_has(merged: ConfigNode, field: str) -> bool:
    return any(field in (entry.value.get("user") or ()) for entry in merged.value["users"])


def _has_place() -> bool:
    """True if there is a folder for temporary files, which a plugin that returns a token does not need."""
    try:
        return bool(tempfile.gettempdir())
    except FileNotFoundError:
        return False


@contextmanager
def _private_folder() -> Iterator[str]:
    """Provide a folder of this user alone, emptied before and after: a killed process may have left files.

    Raises: ConfigError: another user owns it, or may read it.
    """
    folder = os.path.join(tempfile.gettempdir(), f"f5router-{os.geteuid()}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ConfigError([f"{folder} belongs to another user, or others may read it: remove it"])
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # for processes that start at the same time
        _empty(folder)
        try:
            yield folder
        finally:
            _empty(folder)
    finally:
        os.close(descriptor)


def _empty(folder: str) -> None:
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
