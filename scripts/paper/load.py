"""Clients, and what they have seen."""

import bisect
import collections
import itertools

from engine import percentile


class Load:
    """Counts answers from `begin` on, in seconds."""

    def __init__(self, simulation, begin):
        self.simulation, self.begin, self.latencies, self.refused, self.times = simulation, begin, [], 0, []
        # When those were sent that have no answer; of closed loops alone.
        self.waiting = collections.deque()

    def answered(self, sent, is_made):
        now = self.simulation.now
        if now < self.begin:
            return
        if is_made:
            self.latencies.append(now - sent)
            self.times.append(now)
        else:
            self.refused += 1

    def summary(self, until):
        """Rate, p50 and p99 in ms."""
        rate = len(self.latencies) / (until - self.begin)
        return rate, *((percentile(self.latencies, part) or 0) * 1e3 for part in (0.5, 0.99))

    def longest_gap(self):
        """The longest time without an answer."""
        return max((later - former for former, later in itertools.pairwise(self.times)), default=0)


def closed(simulation, load, node, clients, cpu, figures):
    """Clients that send when the last answer is there."""

    def send(_=None):
        sent = simulation.now
        load.waiting.append(sent)

        def answer(is_made):
            load.waiting.remove(sent)
            load.answered(sent, is_made)
            if figures.client_change:
                cpu.run(figures.client_change).then(send)
            else:
                simulation.after(figures.round_trip, send)

        node.submit(answer)

    for number in range(clients):
        simulation.after(number * 1e-6, send)


def opened(simulation, load, nodes, rate):
    """Writes that come at random, so many a second, whatever the answers. They go to the servers in turn."""
    turn = itertools.cycle(nodes)

    def send():
        node = next(turn)
        # It is here now, and both ways count.
        sent = simulation.now - node.figures.round_trip
        node.submit(lambda is_made: load.answered(sent, is_made))
        simulation.after(simulation.random.expovariate(rate), send)

    simulation.after(simulation.random.expovariate(rate), send)


def zipf(count, skew):
    """Shares of the parts by Zipf's law, the greatest first."""
    weights = [1 / (rank + 1) ** skew for rank in range(count)]
    return [weight / sum(weights) for weight in weights]


def chooser(shares):
    """A function that finds the part of a number between 0 and 1."""
    sums = list(itertools.accumulate(shares))
    return lambda number: min(bisect.bisect(sums, number), len(shares) - 1)
