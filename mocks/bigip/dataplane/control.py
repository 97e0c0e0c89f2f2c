"""The data plane for other processes, over plain HTTP on loopback and without REST's rules.

    GET /listeners                      {"10.0.0.1:80": "127.0.0.1:40001", ...}
    GET /served?last=20                 records of the last requests, the newest last
    GET /errors                         texts of what went wrong
    GET /pods                           the stand-ins
    PUT /pods/10.128.0.11/8080          start one; body {"name", "namespace", "certificate", "key", "raw"}
    DELETE /pods/10.128.0.11/8080       stop it
    GET /unit                           failover state, device group and sync state
    PUT /unit                           change them; body {"failover": "STANDBY", "group", "sync": "conflict"}
"""

from __future__ import annotations

import dataclasses
from typing import Any

from aiohttp import web

from mocks import closing
from mocks.bigip import addresses
from mocks.bigip.dataplane.loop import LoopThread
from mocks.bigip.dataplane.plane import DataPlane


class Control:
    """Listens on 127.0.0.1 from its beginning to `close`. port: 0 takes any."""

    def __init__(self, plane: DataPlane, port: int = 0) -> None:
        self._plane = plane
        self._thread = LoopThread("fake-data-plane-control")
        self._runner: web.ServerRunner | None = None
        self.url = self._thread.run(self._start(port))

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._thread.run(closing.close(self._runner))
        self._thread.stop()

    async def _start(self, port: int) -> str:
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        body = await request.json() if request.can_read_body else {}
        # the plane's own loop works on it meanwhile
        answer = await self._thread.loop.run_in_executor(None, self._perform, request.method, parts, body)
        if parts == ["served"] and request.query.get("last"):
            answer = answer[-int(request.query["last"]) :]
        return web.json_response(answer, status=404 if answer is None else 200)

    def _perform(self, method: str, parts: list[str], body: dict[str, Any]) -> Any:
        plane = self._plane
        match method, parts:
            case "GET", ["listeners"]:
                return {name: addresses.listening(where) for name, where in plane.listeners().items()}
            case "GET", ["served"]:
                return [dataclasses.asdict(entry) for entry in list(plane.log)]
            case "GET", ["errors"]:
                return [str(error) for error in plane.errors]
            case "GET", ["pods"]:
                return [{**pod.identity(), "accepted": pod.accepted} for pod in plane.pods]
            case "PUT", ["pods", address, port]:
                pair = (body["certificate"].encode(), body["key"].encode()) if "key" in body else None
                more = {name: body[name] for name in ("name", "namespace", "raw") if name in body}
                return plane.pods.start(address, int(port), tls=pair, **more).identity()
            case "DELETE", ["pods", address, port]:
                plane.pods.stop(address, int(port))
                return {}
            case "GET", ["unit"]:
                return plane.store.unit.shown()
            case "PUT", ["unit"]:
                with plane.store.lock:
                    plane.store.unit.set(**body)
                return {}
        return None
