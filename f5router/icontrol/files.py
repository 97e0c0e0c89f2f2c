"""Certificate and key files: brought to the device, installed, and removed from its disk again.

ssh   scp to /var/tmp, installed by sys/crypto, removed by rm, as the original router did.
rest  the file-transfer endpoint, installed by sys/file with sourcePath (12.0 and newer).

Names carry a hash of the content, so a file is never changed, only created and deleted.
"""

import logging
from collections.abc import Callable
from typing import ClassVar

from f5router import names
from f5router.bigip import CertFile, KeyFile
from f5router.errors import BigIPError, Conflict, NotFound, UploadError
from f5router.icontrol import codec
from f5router.icontrol.client import Client, item_path
from f5router.icontrol.upload import SSHUploader
from f5router.plan import DELETE, Change

log = logging.getLogger(__name__)

_CRYPTO = {CertFile.KIND: "sys/crypto/cert", KeyFile.KIND: "sys/crypto/key"}
UPLOADS_SINCE = (12, 0)
INSTALL_TRIES = 15
"""Looks, 2 s apart, for an object that `install` makes late (bigip-rest.md A7)."""


class FileWriter:
    """Thread-safe when the uploader is."""

    KINDS: ClassVar = (CertFile.KIND, KeyFile.KIND)

    def __init__(self, client: Client, uploader: SSHUploader | None, *, sleep: Callable[[float], None]):
        """Args: uploader: None to bring files by REST."""
        self._client = client
        self._uploader = uploader
        self._sleep = sleep

    def close(self) -> None:
        """End the SSH connection."""
        if self._uploader is not None:
            self._uploader.close()

    def write(self, change: Change) -> None:
        """Install or delete one file. Raises: BigIPError."""
        file = change.obj
        if change.verb == DELETE:
            try:
                self._client.delete(item_path(file.KIND, file.path))
            except NotFound:
                log.debug("was gone already", extra={"object": str(file.ref)})
        elif self._uploader is not None:
            self._install(file)
        else:
            self._transfer(file)

    def _install(self, file: CertFile | KeyFile) -> None:
        remote = names.remote_file(file.path)
        # sys/crypto adds .crt or .key itself (f5-router.md 3.3).
        body = {"command": "install", "name": file.path.rsplit(".", 1)[0], "from-local-file": remote}
        with self._uploader.staged(remote, file.pem.encode()):
            try:
                self._client.post(_CRYPTO[file.KIND], body)
            except Conflict:
                log.info("file exists already", extra={"object": str(file.ref)})
            self._await(file)

    def _await(self, file: CertFile | KeyFile) -> None:
        for attempt in range(INSTALL_TRIES):
            try:
                self._client.get(item_path(file.KIND, file.path))
            except NotFound:
                if attempt == INSTALL_TRIES - 1:
                    raise
                self._sleep(2.0)
            else:
                return

    def _transfer(self, file: CertFile | KeyFile) -> None:
        if self._client.version() < UPLOADS_SINCE:
            raise UploadError("certificates go up over REST from TMOS 12.0 on only; give an SSH key with "
                              "--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY")
        name = names.remote_file(file.path).rsplit("/", 1)[1]
        path = self._client.upload(name, file.pem.encode())
        try:
            self._client.post(file.KIND, {**codec.located(file.path), "sourcePath": f"file:{path}"})
        except Conflict:
            log.info("file exists already", extra={"object": str(file.ref)})
        finally:
            self._discard(path)

    def _discard(self, path: str) -> None:
        """Remove the uploaded file; whether the device does it itself is not recorded (A10.10)."""
        try:
            self._client.post("util/unix-rm", {"command": "run", "utilCmdArgs": path})
        except BigIPError as exc:
            log.warning("uploaded file may be left on the device", extra={"file": path, "error": str(exc)})
