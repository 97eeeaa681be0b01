"""What came of a step with many jobs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from howdah.cli.show import as_json, one_line
from howdah.model.job import JobState

if TYPE_CHECKING:
    from howdah.store.bulk import Answers

SHOWN = 20


class Summary:
    """Counts the answers, and keeps those that are refusals."""

    def __init__(self, verb: str, matched: int) -> None:
        self._verb = verb
        self._matched = matched
        self._states: Counter[str] = Counter()
        self.refused: list[dict[str, Any]] = []
        self.in_doubt = True  # whether what was not answered may have been done

    def add(self, answers: Answers) -> None:
        """Take in a batch."""
        for job_id, answer in answers.items():
            if isinstance(answer, JobState):
                self._states[answer] += 1
            else:
                self.refused.append({"id": job_id, "state": getattr(answer, "state", None), "why": str(answer)})

    def show(self, output: str) -> None:
        """Print it: the refused ones too, in a table the first of them."""
        done = {str(state): count for state, count in sorted(self._states.items())}
        if output != "table":
            facts = {"matched": self._matched, "done": sum(done.values()), "states": done, "refused": self.refused}
            click.echo(as_json(facts))
            return
        asked = done.get(JobState.RUNNING, 0) if self._verb == "cancel" else 0
        if changed := sum(done.values()) - asked:
            click.echo(f"{changed} {self._participle()}")
        if asked:
            click.echo(f"{asked} asked to end, running still")
        if self.refused:
            click.echo(f"{len(self.refused)} could not be {self._participle()}:")
            for refusal in self.refused[:SHOWN]:
                click.echo(f"  {one_line(refusal['why'])}")
            if len(self.refused) > SHOWN:
                click.echo(f"  and {len(self.refused) - SHOWN} more; -o json has them all")
        left = self._matched - sum(done.values()) - len(self.refused)
        if left and self.in_doubt:
            click.echo(f"{left} not {self._participle()} as far as is known: it was interrupted")
        elif left:
            click.echo(f"{left} not {self._participle()}" if done else "nothing was changed")
        elif not self._matched:
            click.echo("nothing to do")

    def _participle(self) -> str:
        return {"cancel": "cancelled", "requeue": "requeued", "resolve": "resolved"}[self._verb]
