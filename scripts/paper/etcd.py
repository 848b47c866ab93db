"""etcd as the log sees it: a leader that gathers what waits, flushes at a majority, elections, an end for each log.

Only what takes time or decides is here: there are no values. A batch is a number of changes behind a place.
"""

from engine import Signal

# How servers give way to each other: not at all; as crates/cluster does; or so that one that gives way and has more
# to write joins the end of the queue, which crates/cluster does not do.
NONE, TURNS, QUEUE = "none", "turns", "queue"


class Batch:
    """The changes of one commit. The same object when it is sent again: that is its mark."""

    __slots__ = ("node", "first", "last")

    def __init__(self, node, first, last):
        self.node, self.first, self.last = node, first, last

    def __len__(self):
        return self.last - self.first + 1


class Member:
    """A member of etcd."""

    def __init__(self, cpu, disk):
        self.cpu, self.disk, self.is_up = cpu, disk, True


class Log:
    """The log of one database: its end, its batches, who waits and who watches."""

    def __init__(self, etcd):
        self.etcd, self.tail, self.batches, self.wants, self.nodes = etcd, 0, {}, [], []


class Etcd:
    """A cluster of members. The first one leads at the beginning."""

    def __init__(self, simulation, members, figures):
        self.simulation, self.members, self.figures = simulation, members, figures
        self.leader, self.term, self.waiting, self.wakes = members[0], 0, [], Signal(simulation)
        # Requests without an answer; whether the members know that there is no leader; what they hold meanwhile.
        self.open, self.is_leaderless, self.held = [], False, []
        self.committed_at = 0.0
        simulation.spawn(self._lead(self.term))

    def attempt(self, log, batch, absent, turns):
        """Sends a batch once. The signal fires with (outcome, who comes before, batches), with None, or never."""
        answer = Signal(self.simulation)
        request = (log, batch, absent, turns, answer)
        self.open = [one for one in self.open if not one[4].is_fired] + [request]
        self.simulation.after(self.figures.round_trip / 2, self._arrive, request)
        return answer

    def _arrive(self, request):
        """A member reads the request, and hands it to the leader. One that is dead refuses the connection."""
        member = self.member_of(request[1].node)
        if not member.is_up:
            self.simulation.after(self.figures.round_trip / 2, request[4].fire)
            return
        cost = self.figures.etcd_request + self.figures.etcd_change * len(request[1])
        member.cpu.run(cost).then(lambda _: self.simulation.after(self._way(member), self._propose, request))

    def _propose(self, request):
        """A leader that has died takes what is sent to it with it, until the others notice."""
        if self.leader is not None:
            self.waiting.append(request)
            self.wakes.fire()
        elif self.is_leaderless:
            self.held.append(request)

    def member_of(self, node):
        """The member that a server asks."""
        return self.members[node.member % len(self.members)]

    def _way(self, member):
        """How long a message takes between a member and the leader."""
        return 0 if member is self.leader else self.figures.round_trip / 2

    def _lead(self, term):
        """Takes what waits, flushes it here and at the others, and goes on when its own flush has ended."""
        simulation, leader = self.simulation, self.leader
        while self.term == term:
            if not self.waiting:
                self.wakes = Signal(simulation)
                yield self.wakes
                continue
            requests, self.waiting = self.waiting, []
            others = [member for member in self.members if member is not leader and member.is_up]
            flushes = [simulation.spawn(self._follow(member)) for member in others]
            flushes.append(leader.disk.flush())
            simulation.spawn(self._commit(term, requests, flushes))
            yield flushes[-1]

    def _follow(self, member):
        one_way = self.figures.round_trip / 2
        yield one_way
        yield member.cpu.run(self.figures.etcd_follow)
        yield member.disk.flush()
        yield one_way

    def _commit(self, term, requests, flushes):
        majority, done = len(self.members) // 2 + 1, Signal(self.simulation)
        if len(flushes) < majority:
            return
        left = [majority]

        def count(_):
            left[0] -= 1
            if not left[0]:
                done.fire()

        for flush in flushes:
            flush.then(count)
        yield done
        # In the order in which they were taken.
        self.committed_at = at = max(self.simulation.now, self.committed_at)
        yield at - self.simulation.now
        if self.term == term:
            for request in requests:
                self._apply(*request)

    def _apply(self, log, batch, absent, turns, answer):
        back = self.figures.round_trip / 2 + self._way(self.member_of(batch.node))
        log.wants = [node for node in log.wants if node not in absent]
        if batch.first == log.tail + 1:
            log.tail, log.batches[batch.first] = batch.last, batch
            log.batches.pop(batch.first - 200_000, None)
            log.wants = [node for node in log.wants if node is not batch.node]
            found = ("committed", list(log.wants), [])
            if turns == QUEUE and log.wants and batch.node.queue:
                log.wants.append(batch.node)
            for node in log.nodes:
                self._tell(node, batch)
        elif log.batches.get(batch.first) is batch:
            found = ("committed", [], [])
        else:
            if turns != NONE and batch.node not in log.wants:
                log.wants.append(batch.node)
            before = log.wants[: log.wants.index(batch.node)] if turns != NONE else []
            found = ("overtaken", before, self._behind(log, batch.first, 16))
        self.simulation.after(back, answer.fire, found)

    @staticmethod
    def _behind(log, first, most):
        """Batches from a number on, as many as are there."""
        found = []
        while first in log.batches and len(found) < most:
            found.append(log.batches[first])
            first = log.batches[first].last + 1
        return found

    def _tell(self, node, batch):
        """The watch of a server brings it a batch."""
        figures, member, after = self.figures, self.member_of(node), self.simulation.after
        cost = figures.etcd_watch + figures.etcd_watch_change * len(batch)

        def read(_):
            after(figures.round_trip / 2, node.receive, batch)

        after(self._way(member), lambda: member.cpu.run(cost).then(read))

    def lose_leader(self, back_after):
        """The leader dies. After an election another member leads; the dead one comes back later."""
        dead, figures, simulation = self.leader, self.figures, self.simulation
        dead.is_up, self.leader, self.waiting = False, None, []
        self.term += 1
        for request in self.open:
            if self.member_of(request[1].node) is dead:
                simulation.after(figures.round_trip / 2, request[4].fire)
        # A follower waits between one and two times the timeout since the last heartbeat; two of them: the first one.
        timeouts = [simulation.random.uniform(1, 2) for _ in self.members[1:]]
        begins = min(timeouts) * figures.election - simulation.random.uniform(0, figures.heartbeat)
        simulation.after(begins, setattr, self, "is_leaderless", True)
        simulation.after(begins + 2 * figures.round_trip + 2 * figures.flush_median, self._elect)
        simulation.after(back_after, setattr, dead, "is_up", True)

    def _elect(self):
        up = [member for member in self.members if member.is_up]
        if len(up) > len(self.members) // 2:
            self.leader, self.is_leaderless = up[0], False
            self.waiting, self.held = self.held, []
            self.simulation.spawn(self._lead(self.term))
