"""A TCP proxy in front of PostgreSQL that goes wrong in every way a network does, when a test says so.

    with Proxy(dsn) as proxy:
        work_on(proxy.dsn)
        proxy.freeze()      # the connections there are fall silent, new ones work
        proxy.stall()       # all fall silent, new ones are taken and never answered
        proxy.swallow()     # what the server answers is lost
        proxy.refuse()      # all end, new ones too
        proxy.forward()     # as it should be; what was frozen stays so

It runs in a thread of its own. What it stalls it delivers when it flows again, as a network would.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """`accepted`: how many connections were made to it so far."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._address = _address(dsn)
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._flows = asyncio.Event()
        self._flows.set()
        self._swallowing = False
        self._refusing = False
        self._links: set[_Link] = set()
        self.accepted = 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @property
    def dsn(self) -> str:
        """The way through the proxy."""
        return make_conninfo(self._dsn, host="127.0.0.1", port=self._port)

    @property
    def open(self) -> int:
        """How many connections lead through it."""
        return len(self._links)

    def forward(self) -> None:
        """Let everything through."""
        self._do(lambda: self._set(swallowing=False, refusing=False, flows=True))

    def freeze(self) -> None:
        """The connections there are fall silent for good."""
        self._do(lambda: [link.freeze() for link in self._links])

    def stall(self) -> None:
        """Nothing moves any more."""
        self._do(lambda: self._set(swallowing=False, refusing=False, flows=False))

    def swallow(self) -> None:
        """What the server answers is lost."""
        self._do(lambda: self._set(swallowing=True, refusing=False, flows=True))

    def refuse(self) -> None:
        """Every connection ends, and every new one at once."""
        self._do(lambda: self._set(swallowing=False, refusing=True, flows=True))
        self.cut()

    def cut(self) -> None:
        """Every connection ends."""
        self._do(lambda: [link.cut() for link in self._links])

    def lead_to(self, dsn: str) -> None:
        """New connections lead to another server."""
        self._address = _address(dsn)

    def _set(self, *, swallowing: bool, refusing: bool, flows: bool) -> None:
        self._swallowing, self._refusing = swallowing, refusing
        (self._flows.set if flows else self._flows.clear)()

    def _do(self, step: Callable[[], Any]) -> None:
        async def now() -> None:
            step()

        asyncio.run_coroutine_threadsafe(now(), self._loop).result(5)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(writer)
        self._links.add(link)
        try:
            with suppress(OSError, asyncio.CancelledError):  # cancelled at the end only
                if not self._refusing:
                    await self._flows.wait()
                    await self._serve(link, reader, writer)
        finally:
            self._links.discard(link)
            link.cut()

    async def _serve(self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = asyncio.open_unix_connection(self._address) if isinstance(self._address, str) else None
        answers, server = await (opened or asyncio.open_connection(*self._address))
        link.writers.append(server)
        pumps = [
            asyncio.ensure_future(self._pump(link, reader, server, answering=False)),
            asyncio.ensure_future(self._pump(link, answers, writer, answering=True)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()

    async def _pump(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answering: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._flows.wait()
                if not link.frozen and not (answering and self._swallowing):
                    writer.write(data)
                    await writer.drain()


class _Link:
    """One connection through the proxy."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.writers = [client]
        self.frozen = False

    def freeze(self) -> None:
        self.frozen = True

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()


def _address(dsn: str) -> str | tuple[str, int]:
    parts = conninfo_to_dict(dsn)
    host, port = str(parts.get("host") or "127.0.0.1"), int(parts.get("port") or 5432)
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
