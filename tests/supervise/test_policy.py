"""What is done about a process that has ended."""

from __future__ import annotations

import pytest

from howdah.supervise.lifeline import Heard
from howdah.supervise.policy import LONG_RUN, LONGEST_DELAY, End, delay, given_up, quick_ends, stopped_well

REFUSED = End(2, 0.1, refused=True)
CRASHED = End(2, 0.1)


def test_one_that_ran_long_starts_again_at_once() -> None:
    assert delay(quick_ends(7, End(-9, LONG_RUN)), chance=0.99) == 0.0


def test_one_that_dies_again_and_again_waits_longer_up_to_a_limit() -> None:
    quick, waits = 0, []
    for _ in range(2000):
        quick = quick_ends(quick, CRASHED)
        waits.append(delay(quick, chance=0.999))
    assert waits == sorted(waits)
    assert waits[0] < 1 < 25 < waits[-1] <= LONGEST_DELAY


def test_chance_spreads_the_starts_over_half_of_the_delay() -> None:
    assert 2 * delay(3, 0.0) == pytest.approx(delay(3, 0.999999), rel=1e-3)


@pytest.mark.parametrize(
    ("first_ends", "status"),
    [
        ([REFUSED, REFUSED], 2),
        ([End(1, 1, refused=True), End(3, 1, refused=True)], 3),
        ([REFUSED, None], None),
        ([REFUSED, CRASHED], None),
        ([CRASHED, CRASHED], None),
    ],
)
def test_it_gives_up_only_when_every_process_refused_to_run_at_its_first_start(
    first_ends: list[End | None], status: int | None
) -> None:
    assert given_up(first_ends) == status


def test_one_that_died_of_the_stop_signal_was_still_starting() -> None:
    assert [stopped_well(End(status, 1)) for status in (0, -15, -2, 1, -9)] == [True, True, True, False, False]


def test_an_end_is_told_in_words() -> None:
    assert (str(End(-9, 1.26)), str(End(3, 0))) == ("died of SIGKILL after 1.3 s", "ended with status 3 after 0.0 s")
    assert "signal 63" in str(End(-63, 0))


def test_what_a_process_says_may_come_in_pieces() -> None:
    heard = Heard() + b"loaded 3"
    assert not heard.loaded
    heard += b"0.5\nref"
    assert (heard.grace, heard.refused) == (30.5, False)
    assert (heard + b"used\n").refused
