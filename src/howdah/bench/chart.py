"""Throughput over the jobs done, as an SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import floor, log10

from howdah.bench.figures import Point
from howdah.bench.result import ScenarioResult

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 40, 50
COLOURS = ("#1b6ca8", "#d1495b", "#3c8d53", "#8d6a9f", "#b5852a", "#555555")
TICKS = 5


def lines_of(found: ScenarioResult) -> dict[str, list[Point]]:
    """For each case the points of the run whose end is the median of all its ends."""
    lines: dict[str, list[Point]] = {}
    for case in found.cases:
        runs = sorted((run for run in case.runs if run.counts and run.points), key=lambda run: run.points[-1][1])
        if runs:
            lines[case.name] = list(runs[(len(runs) - 1) // 2].points)
    return lines


def svg(title: str, lines: Mapping[str, Sequence[Point]]) -> str:
    """The chart, both axes from 0; it brings its own background, for pages that are dark."""
    points = [point for line in lines.values() for point in line]
    right, top = (_round_up(max((point[axis] for point in points), default=1.0)) for axis in (0, 1))

    def place(point: Point) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * point[0] / right
        return across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * point[1] / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, TOP - 18, title, size=14),
    ]
    for tick in range(TICKS + 1):
        x, y = place((right * tick / TICKS, top * tick / TICKS))
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        parts.append(_text(LEFT - 8, y + 4, _short(top * tick / TICKS), anchor="end"))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _short(right * tick / TICKS), anchor="middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "jobs done", anchor="middle"))
    for place_in_key, (name, line) in enumerate(lines.items()):
        parts += _line(name, [place(point) for point in line], place_in_key)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(name: str, places: Sequence[Point], n: int) -> Iterator[str]:
    colour, y = COLOURS[n % len(COLOURS)], TOP + 20 * n
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    yield f'<path d="M{WIDTH - RIGHT + 15} {y}h20" stroke="{colour}" stroke-width="2"/>'
    yield _text(WIDTH - RIGHT + 42, y + 4, name)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _round_up(value: float) -> float:
    """The next 1, 2, 5 or 10 times a power of ten."""
    power = 10.0 ** floor(log10(value)) if value > 0 else 1.0
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _short(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} M"
    return f"{value / 1000:g} k" if value >= 1000 else f"{value:g}"
