"""A job is enqueued on whatever holds the caller's transaction."""

from typing import Any, assert_type

import psycopg
import sqlalchemy as sa
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from howdah import Client, Enqueued, job


@job(queue="mail")
async def send_mail(to: str, text: str = "Hi") -> None: ...


engine = sa.create_engine("postgresql+psycopg://")
new_session = sessionmaker(engine)


class ShopSession(Session): ...


def with_sqlalchemy() -> None:
    with Session(engine) as session, session.begin():
        assert_type(send_mail.enqueue(session, to="a@example.com", text="Thanks"), Enqueued)
    with ShopSession(engine) as session, session.begin():
        assert_type(send_mail.enqueue(session, "a@example.com"), Enqueued)
    with new_session.begin() as session:
        assert_type(send_mail.enqueue_many(session, [{"to": "a"}, send_mail.new("b")]), list[Enqueued])
    scoped = scoped_session(new_session)
    assert_type(send_mail.enqueue(scoped, to="a@example.com"), Enqueued)
    with engine.begin() as connection:
        assert_type(send_mail.enqueue(connection, to="a@example.com"), Enqueued)


def with_psycopg() -> None:
    with psycopg.connect() as connection:
        assert_type(send_mail.enqueue(connection, to="a@example.com"), Enqueued)
    with psycopg.Connection[DictRow].connect(row_factory=dict_row) as connection:
        assert_type(send_mail.enqueue(connection, to="a@example.com").id, int)


def with_a_client(pool: ConnectionPool[psycopg.Connection[Any]]) -> None:
    with Client() as client:
        enqueued = send_mail.enqueue(client, to="a@example.com")
        assert_type(enqueued.created, bool)
    client = Client(pool)
    with psycopg.connect() as connection:
        assert_type(client.enqueue("send_mail", {"to": "a"}, on=connection, key="a", tags=["x"]), Enqueued)
        assert_type(client.enqueue_many([send_mail.new("a"), client.new("other", {})], on=connection), list[Enqueued])
        assert_type(client.load((send_mail.new(f"{n}@example.com") for n in range(3)), on=connection), int)
    client.close()
    Client(engine).migrate()
    Client("postgresql://localhost/shop").migrate()
