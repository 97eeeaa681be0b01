"""The arithmetic of the benchmark."""

from __future__ import annotations

import pytest

from howdah.bench.figures import Spread, depths, latencies, moments_of, percentile, slope, throughput
from howdah.bench.producing import Produced, too_slow
from howdah.bench.scenarios.draining import QUEUES, zipf
from howdah.bench.scenarios.memory import MIB, growth


def test_a_spread_is_the_median_and_the_extremes() -> None:
    assert Spread.of([3.0, 1.0, 8.0]) == Spread(3.0, 1.0, 8.0, 3)
    assert Spread.of([1.0, 2.0]) == Spread(1.5, 1.0, 2.0, 2)


def test_nothing_has_no_spread() -> None:
    assert Spread.of([]) is None


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (95, 95), (99, 99), (100, 100), (0, 1)])
def test_a_percentile_is_one_of_the_values(percent: int, value: int) -> None:
    assert percentile(range(100, 0, -1), percent) == value


def test_the_percentile_of_one_value_is_that_value() -> None:
    assert latencies([0.25]) == {"p50_ms": 250, "p95_ms": 250, "p99_ms": 250}


def test_the_slope_of_a_line_is_found_under_noise() -> None:
    assert slope([(0, 1.1), (1, 2.9), (2, 5.1), (3, 6.9)]) == pytest.approx(1.96)


BATCHES = [(1.0, 50), (2.0, 50), (4.0, 100)]  # 50 a second, then as fast, then the same again


def test_a_mark_is_reached_with_the_batch_that_passes_it() -> None:
    assert moments_of(BATCHES, [1, 50, 51, 200]) == [1.0, 1.0, 2.0, 4.0]


def test_a_mark_that_is_never_reached_has_no_moment() -> None:
    assert moments_of(BATCHES, [200, 201]) == [4.0]


def test_throughput_is_that_of_each_part_of_the_jobs() -> None:
    assert throughput(BATCHES, 200, 2) == ((100.0, 50.0), (200.0, 50.0))
    assert throughput([(1.0, 100), (11.0, 100)], 200, 2) == ((100.0, 100.0), (200.0, 10.0))


def test_a_batch_that_is_larger_than_a_part_is_one() -> None:
    assert throughput([(1.0, 100), (2.0, 50), (3.0, 50)], 200, 4) == ((100.0, 100.0), (150.0, 50.0), (200.0, 50.0))


def test_what_is_left_in_the_end_is_a_part_too() -> None:
    assert throughput([(1.0, 60), (2.0, 60), (3.0, 10)], 130, 2) == ((120.0, 60.0), (130.0, 10.0))


def test_the_depth_counts_the_calls_that_no_handler_has_answered_yet() -> None:
    assert depths(sent=[0.0, 1.0, 2.0], began=[0.5, 2.5, 2.6]) == [1, 2, 1]


def test_producers_that_do_not_keep_up_make_a_run_invalid() -> None:
    assert too_slow(Produced(94, 1.0, {}), 100) == ("the producers made 94 of 100 jobs per second",)
    assert too_slow(Produced(96, 1.0, {}), 100) == ()


def test_producers_together_take_from_the_first_call_to_the_last_return() -> None:
    answers = [{"began": 1.0, "ended": 2.0, "sent": {"0": 1.0}}, {"began": 1.5, "ended": 3.0, "sent": {"1": 1.5}}]
    assert Produced.of(answers, 10) == Produced(10, 2.0, {0: 1.0, 1: 1.5})


def test_memory_before_the_warm_up_is_no_growth() -> None:
    points = [(0.0, 1.0 * MIB), *((float(done), 50.0 * MIB) for done in (300, 600, 900))]
    assert growth(points, 1_000) == pytest.approx(0)


def test_memory_that_grows_with_each_job_is_seen() -> None:
    points = [(float(done), done * MIB / 1_000) for done in range(0, 100_000, 10_000)]
    assert growth(points, 100_000) == pytest.approx(100)


def test_too_few_points_have_no_growth() -> None:
    assert growth([(500.0, 1.0), (500.0, 2.0)], 1_000) is None


def test_zipf_gives_the_first_queue_twice_the_second() -> None:
    lines = [queue for queue, _ in zipf(50_000)]
    assert lines.count(QUEUES[0]) == pytest.approx(2 * lines.count(QUEUES[1]), rel=0.1)
    assert len({priority for _, priority in zipf(1_000)}) == 10
