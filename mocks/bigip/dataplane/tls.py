"""TLS over a Wire, with memory buffers: what came before the handshake can be looked at first."""

from __future__ import annotations

import contextlib
import ssl

from mocks.bigip.dataplane.wire import Closed, Wire

CHUNK = 65536


class TLSFailure(Exception):
    """A handshake or a record was wrong; an alert was sent."""


class TLSWire:
    """A TLS connection on a Wire, used like one. begin: bytes that were read from the wire before."""

    def __init__(
        self,
        wire: Wire,
        context: ssl.SSLContext,
        *,
        server_side: bool,
        server_name: str | None = None,
        begin: bytes = b"",
        unclean: bool = True,
    ) -> None:
        self.wire = wire
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._in.write(begin)
        self._unclean = unclean
        self._ended = False
        self.object = context.wrap_bio(
            self._in, self._out, server_side=server_side, server_hostname=server_name
        )

    async def handshake(self) -> None:
        """Raises: TLSFailure, Closed."""
        while True:
            try:
                self.object.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                data = await self.wire.read()
                if not data:
                    raise Closed("the other side ended in the handshake") from None
                self._in.write(data)
                continue
            except ssl.SSLError as wrong:
                self._alert()
                raise TLSFailure(str(wrong)) from wrong
            self._flush()
            return

    def _flush(self) -> None:
        if self._out.pending:
            self.wire.write(self._out.read())

    def _alert(self) -> None:
        with contextlib.suppress(Closed):
            self._flush()

    @property
    def readable(self) -> bool:
        return self._ended or bool(self.object.pending()) or self._in.pending > 0 or self.wire.readable

    async def read(self) -> bytes:
        """Raises: Closed, TLSFailure."""
        while True:
            data = self._decrypted()
            if data or self._ended:
                return data
            data = await self.wire.read()
            if data:
                self._in.write(data)
            else:
                self._ended = True

    def _decrypted(self) -> bytes:
        parts = []
        try:
            while block := self.object.read(CHUNK):
                parts.append(block)
                if not self.object.pending() and not self._in.pending:
                    break
            else:
                self._ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._ended = True
        except ssl.SSLError as wrong:
            self._alert()
            raise TLSFailure(str(wrong)) from wrong
        with contextlib.suppress(Closed):
            self._flush()
        return b"".join(parts)

    async def wait(self) -> None:
        """Wait until bytes came, which may be less than a record."""
        if not self.readable:
            await self.wire.wait()

    def write(self, data: bytes) -> None:
        """Raises: Closed, TLSFailure."""
        try:
            self.object.write(data)
        except ssl.SSLError as wrong:
            raise TLSFailure(str(wrong)) from wrong
        self._flush()

    async def drain(self) -> None:
        await self.wire.drain()

    def end(self) -> None:
        if not self._unclean:
            self._notify()
        self.wire.end()

    def close(self) -> None:
        """Close; with close_notify unless the profile has uncleanShutdown (bigip-behaviour.md B8)."""
        if not self._unclean:
            self._notify()
        self.wire.close()

    def _notify(self) -> None:
        with contextlib.suppress(ssl.SSLError, Closed):
            try:
                self.object.unwrap()
            finally:
                self._flush()

    def abort(self) -> None:
        self.wire.abort()

    @property
    def lost(self) -> bool:
        return self.wire.lost
