"""The end of a fake: signals that a process gets in the foreground, and the connections of a web server."""

import asyncio
import contextlib
import signal
import threading

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


def stop_event() -> threading.Event:
    """An event that SIGTERM and SIGINT set. Only the main thread may call this."""
    stop = threading.Event()

    def handle(*_: object) -> None:
        # Not here: the thread that is interrupted may hold the event's lock.
        threading.Thread(target=stop.set, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return stop
