"""Random clients: each thread draws from its own seeded randomness, and remembers what it was told."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import psycopg

from howdah import Client, Complete, Fail, InvalidTransition, JobNotClaimable, JobNotFound, LeaseLost, Release, Snooze
from tests.chance import kinds

STEPS = ("succeed", "fail", "snooze", "release", "refuse", "cancel", "discard", "linger", "crash")
WEIGHTS = (60, 12, 5, 4, 4, 2, 2, 6, 1)


@dataclass
class Memory:
    """What a client was told: ids that were committed, and ids that were rolled back."""

    kept: set[int] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    operations: int = 0


class Producer:
    """One client. `turn` does one random thing; an answer that breaks the contract fails an assertion."""

    def __init__(self, dsn: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._dsn = dsn
        self._client = Client(dsn)
        self.memory = Memory()

    def turn(self) -> None:
        self.memory.operations += 1
        action = self._random.choices(
            [self._enqueue, self._enqueue_many, self._in_transaction, self._pull, self._operate],
            weights=[40, 10, 20, 20, 10],
        )[0]
        action()

    def close(self) -> None:
        self._client.close()

    def _job(self) -> object:
        draw = self._random
        kind = draw.choices([kinds.plain, kinds.paid, kinds.once], weights=[60, 30, 10])[0]
        options: dict[str, object] = {}
        if draw.random() < 0.2:
            options["key"] = f"k{draw.randrange(5)}"
            if draw.random() < 0.5:
                options["key_for"] = 0.05
        if draw.random() < 0.2:
            options["subject"] = f"s{draw.randrange(5)}"
        if draw.random() < 0.1:
            options["delay"] = draw.random() * 0.3
        if draw.random() < 0.1:
            options["expires_in"] = draw.random()
        plan = draw.choices(STEPS, weights=WEIGHTS, k=draw.randrange(1, 4))
        return kind.options(priority=draw.randrange(-2, 3), **options).new(plan)

    def _enqueue(self) -> None:
        self.memory.kept.update(answer.id for answer in self._client.enqueue_many([self._job()]))

    def _enqueue_many(self) -> None:
        answers = self._client.enqueue_many([self._job() for _ in range(self._random.randrange(1, 20))])
        self.memory.kept.update(answer.id for answer in answers)

    def _in_transaction(self) -> None:
        with psycopg.connect(self._dsn) as connection:
            try:
                answers = self._client.enqueue_many([self._job() for _ in range(3)], on=connection)
            except psycopg.errors.DeadlockDetected:
                return  # keys of one kind in opposite orders by two open transactions: PostgreSQL's rule
            if self._random.random() < 0.3:
                connection.rollback()
                self.memory.undone.update(answer.id for answer in answers if answer.created)
            else:
                connection.commit()
                self.memory.kept.update(answer.id for answer in answers)

    def _pull(self) -> None:
        draw = self._random
        limit = draw.randrange(1, 5)
        claimed = self._client.claim(limit=limit, worker="puller", lease=draw.choice([0.05, 1.0]))
        assert len(claimed) <= limit, "I10"
        for job in claimed:
            if draw.random() < 0.2:
                continue  # never reported: the reaper's
            try:
                if job.needs_start:
                    self._client.start(job.lease)
                if draw.random() < 0.3:
                    self._client.extend(job.lease, 0.5)
                outcome = draw.choice([Complete(1), Fail("x"), Snooze(0.02), Release("x"), Release("x", excused=False)])
                if not self._client.settle_many([(job.lease, outcome)]) and draw.random() < 0.3:
                    self._client.settle_many([(job.lease, outcome)])  # said twice, it must change nothing
            except LeaseLost:
                pass

    def _operate(self) -> None:
        if not self.memory.kept:
            return
        job_id = self._random.choice(sorted(self.memory.kept)[-200:])
        try:
            match self._random.randrange(4):
                case 0:
                    self._client.cancel(job_id)
                case 1:
                    self._client.requeue(job_id)
                case 2:
                    self._client.claim_job(job_id, worker="by id", lease=0.05)
                case 3:
                    self._client.resolve(job_id, self._random.choice(["completed", "discarded", "available"]), "chance")
        except (InvalidTransition, JobNotClaimable, JobNotFound):
            pass
