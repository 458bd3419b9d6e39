"""Work on threads that take their items themselves: all results, in order, few ahead, and errors where they happen."""

import time
from collections.abc import Iterator
from random import Random
from threading import Lock

import pytest

from rageval_batch.runs.batch import map_ordered


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 7, 60])
def test_results_come_in_the_order_of_the_items(threads: int, count: int) -> None:
    drawn = Random(count)
    pauses = [drawn.random() / 500 for _ in range(count)]

    def work(number: int) -> int:
        time.sleep(pauses[number])
        return number * number

    assert list(map_ordered(work, iter(range(count)), threads)) == [number * number for number in range(count)]


def test_items_are_taken_by_one_thread_at_a_time_and_not_far_ahead() -> None:
    taking, taken = Lock(), 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(50):
            assert taking.acquire(blocking=False)  # a generator cannot run twice at once
            time.sleep(0.0005)
            taken += 1
            taking.release()
            yield number

    for done, number in enumerate(map_ordered(lambda number: number, items(), 3)):
        assert number == done
        assert taken <= done + 1 + 2 * (3 + 1)


def test_an_error_of_the_items_or_of_the_work_ends_it() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise ValueError("the sixth cannot be read")

    with pytest.raises(ValueError, match="the sixth"):
        list(map_ordered(lambda number: number, items(), 2))
    with pytest.raises(ZeroDivisionError):
        list(map_ordered(lambda number: 1 // (3 - number), iter(range(10)), 2))
