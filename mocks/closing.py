"""How a fake's web server ends: every connection is closed when it has ended."""

import asyncio
import contextlib

from aiohttp import web


async def close(runner: web.BaseRunner) -> None:
    """Stop listening and reset all connections, also those whose TLS handshake has only begun."""
    for site in list(runner.sites):
        await site.stop()
    # A handshake that has begun is a task; left alone, its client would wait for an answer.
    if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=1)
    # Watches never end by themselves; and TLS would wait for the client's close_notify after the loop's end.
    for connection in runner.server.connections if runner.server else ():
        reset(connection.transport)
    await runner.cleanup()


def reset(transport: asyncio.BaseTransport | None) -> None:
    """Reset a connection. One with TLS that was closed twice raises (seen with Python 3.11.2)."""
    if transport is not None:
        with contextlib.suppress(AttributeError):
            transport.abort()
