"""The transaction of a Context, opened or used wrongly."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session, sessionmaker

from howdah import Context


async def wrong(ctx: Context, sessions: sessionmaker[Session], engine: sa.Engine, async_engine: AsyncEngine) -> None:
    async with ctx.transaction(sessions):  # error: reportGeneralTypeIssues
        pass
    async with ctx.transaction(engine):  # error: reportGeneralTypeIssues
        pass
    with ctx.transaction(async_engine):  # error: reportGeneralTypeIssues
        pass
    with ctx.transaction(sessions) as session:
        session.cursor()  # error: reportAttributeAccessIssue
    with ctx.transaction() as connection:
        connection.begin()  # error: reportAttributeAccessIssue
    with ctx.transaction("postgresql://"):  # error: reportArgumentType
        pass
