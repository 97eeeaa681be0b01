"""An async target gives a coroutine: forgetting the await shows in the types."""

import psycopg
from sqlalchemy.ext.asyncio import AsyncSession

from howdah import AsyncClient, Enqueued, job


@job
def resize(path: str) -> None: ...


async def forgotten(session: AsyncSession, connection: psycopg.AsyncConnection, client: AsyncClient) -> None:
    resize.enqueue(session, "a.png")  # error: reportUnusedCoroutine
    resize.enqueue(connection, "a.png")  # error: reportUnusedCoroutine
    resize.enqueue_many(client, [])  # error: reportUnusedCoroutine
    client.enqueue("resize", {"path": "a.png"})  # error: reportUnusedCoroutine
    print(resize.enqueue(client, "a.png").id)  # error: reportAttributeAccessIssue
    answer: Enqueued = resize.enqueue(session, "a.png")  # error: reportAssignmentType
    print(answer)


async def needless(session: psycopg.Connection) -> None:
    await resize.enqueue(session, "a.png")  # error: reportGeneralTypeIssues
