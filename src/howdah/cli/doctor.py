"""`howdah doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from howdah.cli import options

if TYPE_CHECKING:
    from howdah.diagnosis import Finding

COLOURS = {"problem": "red", "warning": "yellow", "note": "cyan", "ok": "green"}
WIDTH = 9
LONGEST_FACT = 300


@click.command()
@options.dsn
@click.option(
    "--listen-dsn",
    envvar="HOWDAH_LISTEN_DSN",
    metavar="DSN",
    help="Where workers listen, if that is not --dsn. Default: $HOWDAH_LISTEN_DSN.",
)
@click.option("--all", "every", is_flag=True, help="Show the checks too that are fine.")
@options.output
@click.pass_context
def doctor(ctx: click.Context, dsn: str | None, listen_dsn: str | None, every: bool, output: str) -> None:
    """Look for whatever keeps jobs from running, now or soon, and say what to do.

    Reads only, for a few seconds at most. Run it with the DSN of a worker: what that role may not do is a finding too.
    docs/operations/doctor.md explains every finding.

    Exit status: 0 when there are only notes, 1 with a warning or a problem, 3 when the schema is behind.

    \b
    howdah doctor --dsn postgresql://localhost/shop
    howdah doctor -o jsonl | jq 'select(.severity == "problem")'
    """
    from howdah.cli import show
    from howdah.diagnosis import exit_status
    from howdah.store.diagnosis import diagnose

    findings = diagnose(dsn, listen_dsn=listen_dsn)
    if output == "table":
        _print(findings, every)
    else:
        show.listing([_as_dict(finding) for finding in findings], output)
    ctx.exit(exit_status(findings))


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity.name.lower(),
        "title": finding.title,
        "advice": finding.advice,
        "facts": dict(finding.facts),
    }


def _print(findings: Sequence[Finding], every: bool) -> None:
    from howdah.cli import show
    from howdah.diagnosis import Severity

    together: dict[tuple[int, str], list[Finding]] = {}  # what has the same advice is advised once
    for finding in sorted(findings, key=lambda finding: -finding.severity):
        if every or finding.severity > Severity.OK:
            together.setdefault((finding.severity, finding.advice), []).append(finding)
    for (_, advice), group in together.items():
        for finding in group:
            _print_one(finding)
        if advice:
            click.echo(f"{'':<{WIDTH}}→ {show.one_line(advice)}")
    click.echo(_sum(findings))


def _sum(findings: Sequence[Finding]) -> str:
    from howdah.diagnosis import CHECKS, Severity
    from howdah.model.spoken import counted

    ids = {finding.id for finding in findings}
    bad = {finding.id for finding in findings if finding.severity > Severity.OK}
    if not bad:
        return f"all {len(ids)} checks are fine"
    levels = [level for level in reversed(Severity) if level > Severity.OK]
    counts = {level.name.lower(): sum(finding.severity is level for finding in findings) for level in levels}
    said = ", ".join(counted(count, name) for name, count in counts.items() if count)
    if len(ids) <= len(CHECKS):  # it could not go on
        return f"{said}; the other checks need it fixed first"
    return f"{said}; {len(ids - bad)} of {len(ids)} checks are fine"


def _print_one(finding: Finding) -> None:
    from howdah.cli import show

    severity = finding.severity.name.lower()
    click.secho(f"{severity:<{WIDTH}}", fg=COLOURS[severity], nl=False)
    click.echo(f"{finding.id}: {show.one_line(finding.title)}")
    for name, value in finding.facts.items():
        text = value if isinstance(value, str) else show.as_json(value)
        if severity != "ok":
            click.echo(f"{'':<{WIDTH}}  {name}: {show.one_line(text)[:LONGEST_FACT]}")
