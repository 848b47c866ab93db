"""Discrete events: a clock, processes (generators), processors and disks. The same seed gives the same run.

A process yields a number (seconds to wait) or a Signal (to wait for it, and get its value).
"""

import collections
import heapq
import math
import random


class Signal:
    """Something that happens once. Processes wait for it."""

    __slots__ = ("simulation", "is_fired", "value", "waiters")

    def __init__(self, simulation):
        self.simulation, self.is_fired, self.value, self.waiters = simulation, False, None, None

    def fire(self, value=None):
        """Wakes those that wait. Only the first call counts."""
        if self.is_fired:
            return
        self.is_fired, self.value = True, value
        for action in self.waiters or ():
            action(value)
        self.waiters = None

    def then(self, action):
        """Calls `action` with the value, now or later."""
        if self.is_fired:
            action(self.value)
        elif self.waiters is None:
            self.waiters = [action]
        else:
            self.waiters.append(action)


class Simulation:
    """The clock, in seconds, and what is to happen."""

    def __init__(self, seed):
        self.now, self.random = 0.0, random.Random(seed)
        self.heap, self.count = [], 0

    def after(self, delay, action, *arguments):
        self.count += 1
        heapq.heappush(self.heap, (self.now + delay, self.count, action, arguments))

    def spawn(self, process):
        """Starts a process. The signal fires with what it returns."""
        ended = Signal(self)
        self._step(process, ended, None)
        return ended

    def _step(self, process, ended, value):
        try:
            wanted = process.send(value)
            while isinstance(wanted, Signal) and wanted.is_fired:
                wanted = process.send(wanted.value)
        except StopIteration as end:
            ended.fire(end.value)
            return
        if isinstance(wanted, Signal):
            wanted.then(lambda value: self._step(process, ended, value))
        else:
            self.after(wanted, self._step, process, ended, None)

    def first(self, *signals, seconds=None):
        """A signal that fires with the first of these, or with None when time is up."""
        any_of = Signal(self)
        for signal in signals:
            signal.then(any_of.fire)
        if seconds is not None:
            self.after(seconds, any_of.fire, None)
        return any_of

    def run(self, until):
        heap = self.heap
        while heap and heap[0][0] <= until:
            self.now, _, action, arguments = heapq.heappop(heap)
            action(*arguments)
        self.now = until


class Cpu:
    """The cores of a machine, which share their time in slices."""

    SLICE = 0.001

    def __init__(self, simulation, cores):
        self.simulation, self.free, self.busy = simulation, cores, 0.0
        self.waiting = collections.deque()

    def run(self, seconds):
        """Works for so long on one core; the signal fires at the end."""
        done = Signal(self.simulation)
        self.waiting.append([seconds, done])
        self._next()
        return done

    def _next(self):
        while self.free and self.waiting:
            task = self.waiting.popleft()
            part = min(task[0], self.SLICE)
            self.free -= 1
            self.busy += part
            self.simulation.after(part, self._ran, task, part)

    def _ran(self, task, part):
        self.free += 1
        task[0] -= part
        if task[0] > 1e-9:
            self.waiting.append(task)
        else:
            task[1].fire()
        self._next()


class Thread:
    """Does one piece of work after the other, on a core of its machine."""

    def __init__(self, simulation, cpu):
        self.simulation, self.cpu, self.waiting, self.is_busy = simulation, cpu, collections.deque(), False

    def run(self, seconds):
        done = Signal(self.simulation)
        self.waiting.append((seconds, done))
        if not self.is_busy:
            self._next()
        return done

    def _next(self, _=None):
        self.is_busy = bool(self.waiting)
        if self.waiting:
            seconds, done = self.waiting.popleft()
            work = self.cpu.run(seconds)
            work.then(done.fire)
            work.then(self._next)


class Disk:
    """Flushes, one after the other. Each takes a time with a log-normal distribution, and that of its octets."""

    def __init__(self, simulation, median, spread, octets_a_second):
        self.simulation, self.mean_log, self.spread, self.free_at = simulation, math.log(median), spread, 0.0
        self.octets_a_second, self.octets = octets_a_second, 0

    def flush(self, octets=0):
        """Writes, and waits until it will survive a power cut."""
        return self.write(octets, self.simulation.random.lognormvariate(self.mean_log, self.spread))

    def write(self, octets, further=0.0):
        simulation = self.simulation
        begin = max(simulation.now, self.free_at)
        self.free_at = begin + further + octets / self.octets_a_second
        self.octets += octets
        done = Signal(simulation)
        simulation.after(self.free_at - simulation.now, done.fire)
        return done


def percentile(values, part):
    """The value below which this part of the values is; None: there are none."""
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else None
