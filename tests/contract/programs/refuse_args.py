"""Args that do not fit the handler's signature."""

import psycopg

from howdah import Client, Context, job


@job
async def send_mail(to: str, text: str = "Hi", *, copies: int = 0) -> None: ...


@job(queue="objects")
def delete_object(ctx: Context, key: str) -> None: ...


def wrong(client: Client, connection: psycopg.Connection, ctx: Context) -> None:
    send_mail.enqueue(client)  # error: reportCallIssue
    send_mail.enqueue(client, 3)  # error: reportArgumentType
    send_mail.enqueue(connection, to=3)  # error: reportArgumentType
    send_mail.enqueue(connection, "a", txet="b")  # error: reportCallIssue
    send_mail.enqueue(connection, "a", "b", 3)  # error: reportCallIssue
    send_mail.enqueue(to="a")  # error: reportCallIssue
    send_mail.options(delay=3).enqueue(client, 3)  # error: reportArgumentType
    send_mail.new()  # error: reportCallIssue
    send_mail.new(to="a", copies="3")  # error: reportArgumentType
    delete_object.enqueue(client, ctx, "a")  # error: reportCallIssue
    delete_object.new(ctx, "a")  # error: reportCallIssue
    delete_object("a")  # error: reportCallIssue
    delete_object(ctx, 3)  # error: reportArgumentType
    send_mail.enqueue("postgresql://", "a")  # error: reportArgumentType
    send_mail.enqueue_many(client, ["a"])  # error: reportArgumentType
    client.enqueue(send_mail, {"to": "a"})  # error: reportArgumentType
    client.enqueue("send_mail", to="a")  # error: reportCallIssue
