"""A server of the cluster: the one writer of a database, with its group, its turn and what it has received.

It follows `directory/src/write/clustered.rs` and `cluster/src/log.rs` step by step.
"""

import collections

from engine import Signal, Thread
from etcd import TURNS, Batch


class Node:
    """One copy of a database."""

    def __init__(self, simulation, cpu, disk, log, figures, turns=TURNS, session=None):
        self.simulation, self.cpu, self.disk, self.log, self.figures = simulation, cpu, disk, log, figures
        self.turns, self.is_up, self.member = turns, True, 0
        self.queue, self.received, self.ahead, self.absent = collections.deque(), {}, [], []
        self.position = self.known = 0
        self.batches = self.overtaken = self.executed = 0
        self.changed = Signal(simulation)
        # The thread `cluster` of its process, which several databases may share.
        self.session = session or Thread(simulation, cpu)
        # Octets of commits since the last checkpoint.
        self.unflushed = 0
        log.nodes.append(self)
        simulation.spawn(self._write())
        simulation.spawn(self._checkpoints())

    def submit(self, answer):
        """A client's write; `answer` is called with whether it was made."""
        self.queue.append(answer)
        self._wake()

    def receive(self, batch):
        """The watch has brought a batch."""
        if self.is_up:
            cost = self.figures.deliver_batch + self.figures.deliver_change * len(batch)
            self.session.run(cost).then(lambda _: self._received(batch))

    def _received(self, batch):
        self.known = max(self.known, batch.last)
        self.ahead = [node for node in self.ahead if node is not batch.node]
        if batch.first > self.position:
            self.received[batch.first] = batch
        self._wake()

    def _wake(self):
        if self.changed.waiters:
            changed, self.changed = self.changed, Signal(self.simulation)
            changed.fire(True)

    def _write(self):
        while True:
            if self.position + 1 in self.received:
                yield from self._catch_up()
            elif self.queue and self.is_up:
                count = min(len(self.queue), self.figures.group_limit)
                group = [self.queue.popleft() for _ in range(count)]
                is_made = yield from self._serve(group)
                self.simulation.spawn(self._answer(group, is_made))
            else:
                yield self.changed

    def _checkpoints(self):
        """Commits are not flushed one by one, but all of some time together, in parts, beside the writer."""
        figures = self.figures
        while True:
            yield figures.checkpoint
            left = self.unflushed
            while left > 0:
                part = min(left, figures.checkpoint_part)
                left, self.unflushed = left - part, self.unflushed - part
                yield self.disk.flush(part) if left <= 0 else self.disk.write(part)

    def _answer(self, group, is_made):
        """The answers go out one after the other, beside the next group."""
        for begin in range(0, len(group), 32):
            part = group[begin : begin + 32]
            yield self.cpu.run(self.figures.serve_change * len(part))
            for answer in part:
                answer(is_made)

    def _live(self):
        """A server that has died does nothing more."""
        if not self.is_up:
            yield Signal(self.simulation)

    def _catch_up(self):
        while self.position + 1 in self.received:
            taken, changes = 0, 0
            while changes < 40_000 and self.position + changes + 1 in self.received:
                batch = self.received.pop(self.position + changes + 1)
                taken, changes = taken + 1, changes + len(batch)
            yield self.cpu.run(
                self.figures.apply_batch * (1 if taken == 1 else 1 + taken / 4) + self.figures.apply_change * changes
            )
            self.unflushed += self.figures.written(changes)
            self.position += changes

    def _serve(self, group):
        """Executes until the log has the group. Returns whether it has."""
        figures, begun = self.figures, self.simulation.now
        while self.simulation.now - begun < figures.patience:
            yield from self._catch_up()
            if not (yield from self._turn()):
                continue
            yield self.cpu.run(figures.execute_batch + figures.execute_change * len(group))
            self.executed += len(group)
            batch = Batch(self, self.position + 1, self.position + len(group))
            outcome = yield from self._append(batch, begun)
            yield from self._live()
            if outcome == "committed":
                self.unflushed += figures.written(len(group))
                self.position = batch.last
                self.known = max(self.known, batch.last)
                self.received.pop(batch.first, None)
                self.batches += 1
                return True
            if outcome == "unknown":
                return False
            self.overtaken += 1
        return False

    def _turn(self):
        """Waits for the turn. False: there is something to apply first."""
        left = self.figures.turn
        while True:
            if self.position + 1 in self.received:
                return False
            is_newest = self.known <= self.position
            if is_newest and left <= 0:
                self.absent, self.ahead = self.absent + self.ahead, []
            if is_newest and not self.ahead:
                return True
            before = self.simulation.now
            yield self.simulation.first(self.changed, seconds=max(left, 1e-6) if is_newest else self.figures.turn)
            if is_newest:
                left -= self.simulation.now - before + 1e-9

    def _append(self, batch, begun):
        """Sends a batch until it is known what became of it, or time is up."""
        figures = self.figures
        while True:
            yield from self._live()
            absent, self.absent = self.absent, []
            answer = self.log.etcd.attempt(self.log, batch, absent, self.turns)
            found = yield self.simulation.first(answer, seconds=figures.attempt)
            if found:
                outcome, self.ahead, batches = found
                for other in batches:
                    self._received(other)
                return outcome
            self.member += 1
            if self.simulation.now - begun + figures.again > figures.patience:
                return "unknown"
            yield figures.again
