"""Code that takes any kind or any target, as a library over Howdah has it."""

from collections.abc import Mapping
from typing import Any

from howdah import AnyKind, AsyncTarget, Enqueued, OnCrash, OnSupersede, Seconds, SyncTarget, job


@job
def index(document: int) -> None: ...


def enqueue_all(target: SyncTarget, documents: list[int]) -> list[Enqueued]:
    return [index.enqueue(target, document) for document in documents]


async def enqueue_one(target: AsyncTarget, document: int) -> Enqueued:
    return await index.enqueue(target, document)


def any_kind(kind: AnyKind, target: SyncTarget, args: Mapping[str, Any]) -> Enqueued:
    return kind.enqueue(target, **args)


def registered(name: str, on_crash: OnCrash, on_supersede: OnSupersede, lease: Seconds) -> AnyKind:
    return job(kind=name, on_crash=on_crash, on_supersede=on_supersede, lease=lease)(print_it)


def print_it(text: str) -> None:
    print(text)
