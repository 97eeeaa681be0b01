"""`howdah bench`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from howdah.cli.main import FAILED

if TYPE_CHECKING:
    from howdah.bench.result import Report, ScenarioResult
    from howdah.bench.scenario import Scenario

FEWEST_RUNS = 3
FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--dsn", metavar="DSN", help="A server to measure on, in databases of its own. Default: an embedded one.")
@click.option(
    "--scenario", "names", multiple=True, metavar="NAME", help="By number or name; more than once. Default: all."
)
@click.option("--list", "listing", is_flag=True, help="List the scenarios, and measure nothing.")
@click.option("--small", is_flag=True, help="Little of everything: whether it works, not how fast.")
@click.option("--jobs", type=click.IntRange(1), help="Other than the scenario's.")
@click.option("--processes", type=click.IntRange(1, 64), help="Other than the scenario's: workers, or clients.")
@click.option("--payload", type=click.IntRange(30, 1_000_000), metavar="BYTES", help="Args of a job. Default: 100.")
@click.option("--runs", type=click.IntRange(FEWEST_RUNS), default=FEWEST_RUNS, show_default=True, help="Of each case.")
@click.option("--save", type=FILE, help="Keep the results as JSON; adds to what is there already.")
@click.option("--compare", "earlier", type=EXISTING, metavar="FILE", help="Results kept before: what is worse now?")
@click.option("--show", "kept", type=EXISTING, metavar="FILE", help="Print results kept before, and measure nothing.")
@click.option("--chart", type=FILE, help="Write the throughput under an old snapshot (scenario horizon) as an SVG.")
@click.option("--profile", type=FOLDER, help="Profile the workers into this folder. They become slower.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True)
@click.pass_context
def bench(ctx: click.Context, /, output: str, kept: Path | None, listing: bool, **options: Any) -> None:
    """Measure Howdah beside raw SQL on the same tables, in the same run.

    Workers, clients and settings are those that one gets by default. What counts is the ratio to raw SQL: figures in
    jobs per second are the machine's. Every run checks that each job ran once. The server named by --dsn, never
    HOWDAH_DSN, needs a role that may create databases; they are dropped at the end. Exit status 1: a check failed, or
    --compare found something worse.

    \b
    howdah bench --small
    howdah bench --scenario drain-1 --scenario latency --save results.json
    howdah bench --compare results.json
    """
    from howdah.bench.result import read
    from howdah.bench.scenarios import SCENARIOS

    if listing:
        _list(SCENARIOS.values(), output)
        return
    report = read(kept) if kept is not None else _measure(_chosen(options["names"], SCENARIOS), output, options)
    _print(report, SCENARIOS, output)
    if options["chart"] is not None:
        _draw(report, options["chart"])
    wrong = any(found.wrong for found in report.scenarios)
    worse = options["earlier"] is not None and _compare(read(options["earlier"]), report, SCENARIOS, output)
    if wrong or worse:
        ctx.exit(FAILED)


def _chosen(names: tuple[str, ...], scenarios: dict[int, Scenario]) -> list[Scenario]:
    by_name = {str(key): scenario for scenario in scenarios.values() for key in (scenario.number, scenario.name)}
    for name in names:
        if name not in by_name:
            known = ", ".join(f"{scenario.number} {scenario.name}" for scenario in scenarios.values())
            raise click.BadParameter(f"{name!r} is none of: {known}", param_hint="--scenario")
    wanted = {by_name[name].number for name in names} or set(scenarios)
    return [scenario for number, scenario in scenarios.items() if number in wanted]


def _measure(scenarios: list[Scenario], output: str, options: dict[str, Any]) -> Report:
    from howdah.bench import play, result
    from howdah.bench.conditions import conditions_of
    from howdah.bench.place import opened

    sizes = {name: options[name] for name in ("small", "jobs", "processes", "payload")}

    def tell(line: str) -> None:
        click.echo(line, err=True)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(FAILED))  # so that everything is dropped, as after Ctrl-C
    with opened(options["dsn"], options["profile"]) as (place, admin):
        report = result.continued(options["save"], conditions_of(admin), small=options["small"])
        for scenario in scenarios:
            size = play.chosen(scenario, **sizes)
            found = play.play(place, scenario, size, options["runs"], tell, small=options["small"])
            report = report.adding(found)
            if options["save"] is not None:
                result.save(report, options["save"])
    return report


def _list(scenarios: Any, output: str) -> None:
    from howdah.cli import show

    rows = [
        {
            "#": scenario.number,
            "name": scenario.name,
            "measures": scenario.measures,
            "targets": "; ".join(map(str, scenario.targets)),
        }
        for scenario in scenarios
    ]
    show.listing(rows, "json" if output == "json" else "table")


def _print(report: Report, scenarios: dict[int, Scenario], output: str) -> None:
    from howdah.bench import tables
    from howdah.cli import show

    if output == "json":
        click.echo(show.as_json(report))
        return
    if output == "markdown":
        click.echo(tables.markdown(report, scenarios))
        return
    show.listing(tables.condition_rows(report.conditions), "table")
    rows = []
    for found in report.scenarios:
        scenario = scenarios[found.number]
        _print_scenario(found, scenario)
        rows += [tables.target_row(found, verdict) for verdict in tables.verdicts(found, scenario)]
    show.listing(rows, "table")


def _print_scenario(found: ScenarioResult, scenario: Scenario) -> None:
    from howdah.bench import tables
    from howdah.cli import show

    click.echo(f"{found.number}. {found.name}: {scenario.measures}")
    click.echo(f"   {show.as_json(found.size)}")
    show.listing(tables.figure_rows(found), "table")
    for remark in tables.remarks(found):
        click.echo(f"   {remark}")


def _draw(report: Report, file: Path) -> None:
    from howdah.bench import chart
    from howdah.bench.scenarios.horizon import PINNED

    found = next((one for one in report.scenarios if one.number == PINNED.number), None)
    if found is None:
        raise click.UsageError(f"--chart needs the scenario {PINNED.name}")
    file.write_text(chart.svg("Jobs per second while an old snapshot is open", chart.lines_of(found)))


def _compare(before: Report, after: Report, scenarios: dict[int, Scenario], output: str) -> bool:
    from howdah.bench import tables
    from howdah.bench.compare import compare
    from howdah.cli import show

    changes = compare(before, after, scenarios)
    if output == "table":
        click.echo(f"{len(changes)} things were measured before, too; what has changed:")
        show.listing(tables.change_rows(changes), "table")
    else:
        for row in tables.change_rows(changes):
            click.echo(" ".join(f"{name}={value}" for name, value in row.items()), err=True)
    return any(change.verdict == "worse" for change in changes)
