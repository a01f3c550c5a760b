import threading
import time

import pytest

from corpora.system.threads import map_in_order


def test_results_come_in_the_order_of_the_items():
    def wait(n):
        time.sleep(0.002 * (n % 3 == 0))
        return n * n

    assert list(map_in_order(wait, range(40), n_threads=3)) == [n * n for n in range(40)]


def test_items_are_done_at_once():
    together = threading.Barrier(3)  # nobody comes through alone

    assert list(map_in_order(lambda _: together.wait(10) < 3, range(3), n_threads=3)) == [True] * 3


def test_no_more_is_begun_than_twice_the_threads():
    begun = []
    results = map_in_order(begun.append, range(100), n_threads=2)

    next(results)
    time.sleep(0.02)

    assert len(begun) <= 4
    results.close()


def test_what_is_raised_comes_in_its_turn_and_ends_it():
    seen, begun = [], []

    def divide(n):
        begun.append(n)
        return 6 // (3 - n)

    with pytest.raises(ZeroDivisionError):
        seen.extend(map_in_order(divide, range(1000), n_threads=2))

    assert seen == [2, 3, 6]
    assert max(begun) < 3 + 2 * 2


def test_no_thread_is_left_when_nobody_wants_more():
    before = threading.active_count()

    assert not all(map_in_order(lambda n: n < 2, range(50), n_threads=3))

    assert threading.active_count() == before
