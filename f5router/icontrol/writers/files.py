"""Writer of certificate and key files: uploads, installs, and removes them from the disk again.

ssh   scp to /var/tmp, installed by sys/crypto, removed by rm, as the original router did.
rest  the file-transfer endpoint, installed by sys/file with sourcePath (12.0 and newer), removed by unix-rm.

Names of installed files carry a hash of the content, so a file is never changed, only created and deleted.
"""

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.uploads.leftovers import Leftovers, UploadOrigin
from f5router.icontrol.uploads.rest_upload import RESTUploader
from f5router.icontrol.writers.writer import SingleWriter, delete
from f5router.model import tmos
from f5router.model.errors import Conflict, NotFound, UploadError
from f5router.model.ltm import CertFile, CRLFile, KeyFile
from f5router.plan.change import DELETE, Change

if TYPE_CHECKING:
    from f5router.icontrol.uploads.ssh_upload import SSHUploader

log = logging.getLogger(__name__)

_CRYPTO = {CertFile.KIND: "sys/crypto/cert", KeyFile.KIND: "sys/crypto/key"}
INSTALL_TRIES = 15
"""Attempts, 2 s apart, to read an object that `install` creates late (bigip-behaviour.md A7)."""


class FileWriter(SingleWriter[CertFile | KeyFile | CRLFile]):
    """Installs and deletes files; remove_left is not thread-safe."""

    kinds = (CertFile.KIND, KeyFile.KIND, CRLFile.KIND)

    def __init__(
        self, client: Client, uploader: "SSHUploader | None", *, origin: UploadOrigin,
        sleep: Callable[[float], None],
    ):
        """Args: uploader: None to upload files by REST."""
        self._client = client
        self._uploader = uploader or RESTUploader(client)
        self._install = self._install_crypto if uploader else self._install_file
        self._origin = origin
        self._left = Leftovers(client, origin, lambda: self._uploader.in_use)
        self._sleep = sleep

    def close(self) -> None:
        """Remove uploads that could not be removed before, and end the SSH connection."""
        self._uploader.close()

    def remove_left(self, installed: Collection[str]) -> None:
        """Remove uploads that this or an earlier run left on the device's disk.

        Args: installed: full paths of the files that are installed in our folder.
        """
        self._uploader.retry()
        self._left.sweep(installed)

    def write_single(self, change: Change[CertFile | KeyFile | CRLFile]) -> None:
        """Install or delete one file. Raises: BigIPError."""
        file = change.obj
        if change.verb == DELETE:
            delete(self._client, file.ref)
            return
        suffix = "key" if file.KIND == KeyFile.KIND else "cert"
        source = f"{self._uploader.FOLDER}/{self._origin.new_name(suffix)}"
        # sys/crypto installs no lists of revoked certificates.
        (self._install_file if isinstance(file, CRLFile) else self._install)(file, source)

    def _install_crypto(self, file: CertFile | KeyFile | CRLFile, source: str) -> None:
        # sys/crypto adds .crt or .key itself (bigip-behaviour.md A7).
        body = {"command": "install", "name": file.path.rsplit(".", 1)[0], "from-local-file": source}
        with self._uploader.staged(source, file.pem.encode()):
            try:
                self._client.post(_CRYPTO[file.KIND], body)
            except Conflict:
                log.info("file already exists", extra={"object": str(file.ref)})
            self._await(file)

    def _await(self, file: CertFile | KeyFile | CRLFile) -> None:
        for attempt in range(INSTALL_TRIES):
            try:
                self._client.get(item_path(file.KIND, file.path))
            except NotFound:
                if attempt == INSTALL_TRIES - 1:
                    raise
                self._sleep(2.0)
            else:
                return

    def _install_file(self, file: CertFile | KeyFile | CRLFile, source: str) -> None:
        if self._install == self._install_file and self._client.version() < tmos.UPLOADS_SINCE:
            raise UploadError(f"certificate files over REST need TMOS {tmos.dotted(tmos.UPLOADS_SINCE)} or "
                              "later; give an SSH key with --f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY")
        with self._uploader.staged(source, file.pem.encode()):
            try:
                self._client.post(file.KIND, {**ltm_codec.located(file.path), "sourcePath": f"file:{source}"})
            except Conflict:
                log.info("file already exists", extra={"object": str(file.ref)})
