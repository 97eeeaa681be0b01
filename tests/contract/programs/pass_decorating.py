"""Handlers become kinds, with their types: what enqueue takes, and what a call gives."""

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, assert_type

from howdah import Client, Context, Enqueued, Kind, NewJob, Retry, job


@job
def resize(path: str, width: int = 640) -> dict[str, int]:
    return {"width": width}


@job()
async def greet(name: str) -> None:
    print(name)


@job(kind="objects.delete", on_crash="unknown", on_unknown="objects.reconcile", lease=timedelta(minutes=5))
def delete_object(ctx: Context, key: str) -> str:
    return f"{ctx.job_id}: {key}"


@job(
    queue="mail",
    retry=Retry(max_attempts=5, base=1, factor=3, cap=600, jitter=0),
    on_discard=delete_object,
    on_supersede="finish",
    timeout=None,
)
async def send(ctx: Context, to: str, *, copies: int = 0) -> int:
    return ctx.attempt + copies


class Mailer:
    def deliver(self, to: str) -> bool:
        return bool(to)


deliver = job(Mailer().deliver)


async def calls_and_jobs(client: Client, ctx: Context) -> None:
    assert_type(resize("a.png"), dict[str, int])
    assert_type(delete_object(ctx, "a"), str)
    assert_type(deliver("a"), bool)
    greeting: Coroutine[Any, Any, None] = greet("Ada")
    await greeting
    assert_type(await send(ctx, "a", copies=2), int)

    assert_type(resize.enqueue(client, "a.png", width=3), Enqueued)
    assert_type(greet.enqueue(client, name="Ada"), Enqueued)
    assert_type(delete_object.enqueue(client, "a"), Enqueued)
    assert_type(send.enqueue(client, to="a", copies=1), Enqueued)
    assert_type(deliver.enqueue(client, "a"), Enqueued)
    assert_type(resize.new("a.png"), NewJob)
    assert_type(resize.name, str)

    urgent = resize.options(priority=-5).options(delay=60, key="a")
    assert_type(urgent.enqueue(client, "a.png"), Enqueued)
    assert_type(urgent("a.png", 3), dict[str, int])


def generic(kind: Kind[..., ..., Any]) -> str:
    return kind.name


print(generic(resize), generic(send))
