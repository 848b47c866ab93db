"""What things cost, in seconds. Those of MEASURED are fitted to docs/benchmarks.md (Cluster, What it takes)."""

import dataclasses

from engine import Disk


@dataclasses.dataclass(frozen=True)
class Figures:
    """The costs of one kind of machine and network."""

    # A server that executes: its processor time for a batch and for a change.
    execute_batch: float = 330e-6
    execute_change: float = 42e-6
    # Requests in and answers out, on another core than the writer's.
    serve_change: float = 20e-6
    # A server that follows: reading a batch (the session), and applying it (the writer).
    deliver_batch: float = 90e-6
    deliver_change: float = 8e-6
    apply_batch: float = 70e-6
    apply_change: float = 18e-6
    # etcd: until it has decided; for each server that watches; for each other member.
    etcd_request: float = 450e-6
    etcd_change: float = 7e-6
    etcd_watch: float = 250e-6
    etcd_watch_change: float = 1.2e-6
    etcd_follow: float = 150e-6
    # The load generator, on the same machine in the measurements.
    client_change: float = 6e-6
    # A flush: the median, and the standard deviation of its logarithm.
    flush_median: float = 0.22e-3
    flush_spread: float = 0.8
    # Octets that a disk takes in a second beside that, and those of a commit of n changes: pages of a tree, so less
    # than n times as many.
    flush_rate: float = 250e6
    commit_octets: float = 30e3
    commit_power: float = 0.67
    # One way between two machines is half of the round trip.
    round_trip: float = 0.06e-3
    # Of the protocol: see crates/cluster (TURN, AGAIN, TRIES), crates/directory (GROUP_LIMIT).
    turn: float = 0.1
    again: float = 0.1
    attempt: float = 0.625
    patience: float = 5.0
    # See crates/directory, write/checkpoints.rs (INTERVAL), and crates/store, checkpoint (STEP).
    checkpoint: float = 0.25
    checkpoint_part: int = 65_536
    group_limit: int = 1024
    # etcd's own settings, its defaults.
    heartbeat: float = 0.1
    election: float = 1.0

    def written(self, changes):
        """Octets that a commit of so many changes writes."""
        return self.commit_octets * changes**self.commit_power

    def disk(self, simulation):
        """A disk of this kind."""
        return Disk(simulation, self.flush_median, self.flush_spread, self.flush_rate)

    def on(self, **changes):
        """The same with other values."""
        return dataclasses.replace(self, **changes)


MEASURED = Figures()
# What cannot be measured here: machines of their own with a common NVMe disk. An assumption, not a measurement.
APART = MEASURED.on(client_change=0.0, round_trip=0.2e-3)
