"""Tables that fit into the room there is: one line for each row, and no cell is ever broken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

GAP = 2
LEAST = 16  # characters that are left of a cell which is cut


def lines(
    rows: Sequence[Mapping[str, str]], room: int | None, *, spare: Sequence[str] = (), whole: Collection[str] = ()
) -> Iterator[str]:
    """The header, and a line for each row, without the columns that are empty. `room`: the width; None: no limit.

    `spare` and `whole` are as for `fitted`.
    """
    from rich.cells import cell_len, set_cell_size

    names = [name for name in rows[0] if any(row[name] for row in rows)]
    widths = {name: max(len(name), *(cell_len(row[name]) for row in rows)) for name in names}
    if room is not None:
        widths = fitted(widths, room, spare, whole)
    for row in ({name: name for name in widths}, *rows):
        cells = (
            set_cell_size(row[name], width)
            if cell_len(row[name]) <= width
            else f"{set_cell_size(row[name], width - 1)}…"
            for name, width in widths.items()
        )
        yield (" " * GAP).join(cells).rstrip()


def fitted(widths: Mapping[str, int], room: int, spare: Sequence[str], whole: Collection[str]) -> dict[str, int]:
    """The columns that have room, and how wide each may be.

    Where it is short, the last column is cut; if that does not do, those of `spare` are left out, the first first; then
    the widest are cut, but for those of `whole` and no header. What does not fit even so is wider than the room.
    """
    widths = dict(widths)
    least = {name: width if name in whole else min(width, max(LEAST, len(name))) for name, width in widths.items()}
    last = next(reversed(widths))
    for name in spare:
        if _over({**widths, last: least[last]}, room) <= 0:
            break
        widths.pop(name, None)
        last = next(reversed(widths))
    for name in (last, *sorted(widths, key=lambda name: -widths[name])):
        widths[name] -= min(max(_over(widths, room), 0), widths[name] - least[name])
    return widths


def _over(widths: Mapping[str, int], room: int) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1) - room
