"""How many threads are worth having: a made-up machine with a clock of its own."""

from __future__ import annotations

import pytest

from kibitz.core.threads import Crew, Pace


class Machine:
    """Iterations take 1 / (rate * speed(threads)) seconds of its clock."""

    def __init__(self, rate, speed):
        self.rate, self.speed, self.now = rate, speed, 0.0
        self.done, self.spent = 0, {}

    def clock(self):
        return self.now

    def iterate(self, done, count, threads):
        assert done == self.done and count > 0
        self.done += count
        took = count / (self.rate * self.speed(threads, self.now))
        self.now += took
        self.spent[threads] = self.spent.get(threads, 0.0) + took


def relative(machine, threads, count):
    """Speed of a run, where one thread on its own has 1."""
    Pace(threads, machine.clock).run(machine.iterate, 0, count)
    assert machine.done == count
    return count / machine.now / machine.rate


@pytest.mark.parametrize("rate", [50.0, 1_000.0, 40_000.0, 800_000.0])
def test_two_threads_work_where_they_are_faster(rate):
    assert relative(Machine(rate, lambda threads, _: {1: 1.0, 2: 1.8}[threads]), 2, int(20 * rate)) > 1.75


@pytest.mark.parametrize("slow", [0.9, 0.5, 0.04])
@pytest.mark.parametrize("rate", [1_000.0, 40_000.0, 800_000.0])
def test_one_works_where_two_are_slower(rate, slow):
    assert relative(Machine(rate, lambda threads, _: {1: 1.0, 2: slow}[threads]), 2, int(20 * rate)) > 0.97


def test_the_number_follows_the_neighbours():
    """Two cores, one of which is taken for the second third of the time."""
    machine = Machine(10_000.0, lambda threads, now: 1.0 if threads == 1 else 0.3 if 5.0 < now < 10.0 else 1.8)
    pace = Pace(2, machine.clock)
    seen = []
    while machine.now < 15.0:
        pace.run(machine.iterate, machine.done, 200)
        seen.append((machine.now, pace.threads))
    for low, high, threads in ((1.0, 5.0, 2), (6.0, 10.0, 1), (11.0, 15.0, 2)):
        here = [t for now, t in seen if low < now < high]
        assert sum(t == threads for t in here) > 0.9 * len(here)


def test_a_lucky_trial_costs_little():
    """A neighbour that works in turns: trials look good, and what follows them is bad."""
    machine = Machine(40_000.0, lambda threads, now: 1.0 if threads == 1 else 1.8 if now % 0.01 < 0.004 else 0.2)
    assert relative(machine, 2, 800_000) > 0.95


def test_many_threads_find_their_number():
    machine = Machine(5_000.0, lambda threads, _: {1: 1.0, 2: 1.9, 4: 3.4, 8: 2.0, 12: 1.1}[threads])
    pace = Pace(12, machine.clock)
    pace.run(machine.iterate, 0, 50_000)
    assert pace.threads == 4 and 50_000 / machine.now / 5_000 > 3.1


def test_a_cold_start_decides_nothing():
    """The first block takes ten times as long: two threads are the faster ones all the same, and soon seen to be."""
    for rate in (20.0, 3_000.0):
        machine = Machine(rate, lambda threads, now: 0.1 if now == 0.0 else {1: 1.0, 2: 1.9}[threads])
        assert relative(machine, 2, int(20 * rate)) > 1.75


def test_one_thread_is_called_once():
    calls = []
    Pace(1).run(lambda *call: calls.append(call), 3, 1_000)
    assert calls == [(3, 1_000, 1)]


@pytest.mark.parametrize(("speed", "best"), [({1: 1.0, 2: 1.9}, 2), ({1: 1.0, 2: 0.4}, 1)])
def test_single_calls_take_the_threads_that_were_fastest(speed, best):
    now, calls = [0.0], []

    def work(thread, threads, gate):
        if thread == 0:
            now[0] += 0.01 / speed[threads]
            calls.append(threads)

    crew = Crew(lambda: now[0])
    for _ in range(500):
        crew.call("kind", 2, work)
        crew.call("another kind", 1, lambda thread, threads, gate: None)
    assert len(calls) == 500 and calls.count(best) > 470
