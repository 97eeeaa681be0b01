"""The same app with a worker in its own event loop: for a small service that is deployed as one process.

    uvicorn fastapi_shop.all_in_one:app

Workers of their own, as in `app.py`, are the better choice once it grows: they scale and restart apart from the web,
and a handler that blocks the event loop blocks no request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from fastapi_shop import app as web
from fastapi_shop import jobs
from howdah import Worker


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The worker lives as long as the app: cancelling it is a graceful stop."""
    worker = Worker(kinds=[jobs], queues={"payments": 5, "mail": 5}, grace=10)
    async with web.lifespan(app), asyncio.TaskGroup() as group:
        working = group.create_task(worker.run_async())
        yield
        working.cancel()


app = FastAPI(lifespan=lifespan)
app.include_router(web.app.router)
