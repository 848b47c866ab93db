"""Years of failures: 128 partitions of three copies on machines, and the clusters of etcd that they append to.

Machines fail on their own, and by racks. A failure is an interval in which copies are missing; what a partition sees is
the overlap of the intervals of its three copies. All figures in `Fate` are assumptions, except the time of a copy.
"""

import dataclasses
import random

HOUR, DAY = 3600, 86400
YEAR = 365 * DAY


@dataclasses.dataclass(frozen=True)
class Fate:
    """How often things fail in a year, and how long it takes, in seconds."""

    machines: int = 12
    partitions: int = 128
    racks: int = 3
    knows_racks: bool = True
    # A crash leaves the disk as it is. A loss does not.
    crashes: float = 2.0
    crash_s: float = 300
    losses: float = 0.05
    replace_s: float = 600
    # One copy after the other: octets of a partition by octets a second.
    copy_s: float = 60.0
    rack_failures: float = 0.5
    rack_s: float = 1200
    restarts: int = 12
    restart_s: float = 60
    # etcd: clusters of three members, each on a machine of its own.
    clusters: int = 16
    # No write is answered: while etcd elects a leader, and while others wait for a dead server's turn.
    election_s: float = 1.5
    turn_s: float = 0.1


def _times(random_source, rate):
    """When something happens in a year, at random."""
    at = random_source.expovariate(rate / YEAR) if rate else YEAR
    while at < YEAR:
        yield at
        at += random_source.expovariate(rate / YEAR)


def placement(fate, random_source):
    """The machines of each partition's three copies. Machine m stands in rack m % racks."""
    used = [0] * fate.machines
    places = []
    for _ in range(fate.partitions):
        chosen = []
        for _ in range(3):
            racks = {machine % fate.racks for machine in chosen} if fate.knows_racks else ()
            free = [one for one in range(fate.machines) if one not in chosen and one % fate.racks not in racks]
            chosen.append(min(free, key=lambda machine: (used[machine], random_source.random())))
            used[chosen[-1]] += 1
        places.append(chosen)
    return places


class Machine:
    """Intervals (begin, end, is_lost) of a machine in a year. A lost one gets its copies back one after the other."""

    def __init__(self, fate, random_source, racks_down):
        self.fate = fate
        self.down = [(at, at + fate.crash_s, False) for at in _times(random_source, fate.crashes)]
        self.down += [(at, at + fate.replace_s, True) for at in _times(random_source, fate.losses)]
        self.down += [(at, at + fate.rack_s, False) for at in racks_down]

    def without(self, order):
        """When the copy that is made as number `order` is missing."""
        more = (order + 1) * self.fate.copy_s
        return [(begin, end + more if is_lost else end, is_lost) for begin, end, is_lost in self.down]


def overlap(copies):
    """Seconds with one, two and three of the copies missing, and whether all were lost at the same time."""
    edges = sorted(
        edge
        for intervals in copies
        for begin, end, is_lost in intervals
        for edge in ((begin, 1, is_lost), (end, -1, is_lost))
    )
    seconds, missing, lost, before, is_gone = [0.0] * (len(copies) + 1), 0, 0, 0.0, False
    for at, change, is_lost in edges:
        seconds[min(missing, len(copies))] += at - before
        before, missing, lost = at, missing + change, lost + change * is_lost
        # A copy may be missing for two reasons at once; that counts once too often, and seldom.
        is_gone |= lost >= len(copies)
    return seconds[1:], is_gone


def year(fate, seed):
    """One year: seconds with copies missing, without reads, without writes; partitions that are gone."""
    source = random.Random(seed)
    places = placement(fate, source)
    racks_down = [list(_times(source, fate.rack_failures)) for _ in range(fate.racks)]
    machines = [Machine(fate, source, racks_down[number % fate.racks]) for number in range(fate.machines)]
    orders = [0] * fate.machines
    members = [
        [Machine(fate, source, racks_down[rack % fate.racks]).down for rack in range(3)] for _ in range(fate.clusters)
    ]
    quorum = [overlap(cluster)[0] for cluster in members]
    elections = [sum(len(member) for member in cluster) / 3 + fate.restarts for cluster in members]
    total = {"one": 0.0, "two": 0.0, "reads": 0.0, "writes": 0.0, "gaps": 0.0, "gone": 0, "worst": 0.0}
    for number, machines_of in enumerate(places):
        copies = []
        for machine in machines_of:
            copies.append(machines[machine].without(orders[machine]))
            orders[machine] += 1
        (one, two, three), is_gone = overlap(copies)
        cluster = number % fate.clusters
        deaths = sum(len(machines[machine].down) + fate.restarts for machine in machines_of)
        gaps = elections[cluster] * fate.election_s + deaths * fate.turn_s
        no_writes = three + quorum[cluster][1] + quorum[cluster][2] + gaps
        total["one"] += one + 3 * fate.restarts * fate.restart_s
        total["two"] += two
        total["reads"] += three
        total["writes"] += no_writes
        total["gaps"] += gaps
        total["gone"] += is_gone
        total["worst"] = max(total["worst"], no_writes)
    return total


def years(fate, count, seed=1):
    """Means for a partition over many years: seconds a year, and partitions that were lost in all of them."""
    all_of = [year(fate, seed * 1_000_003 + number) for number in range(count)]
    mean = {key: sum(one[key] for one in all_of) / count / fate.partitions for key in all_of[0]}
    mean["gone"] = sum(one["gone"] for one in all_of)
    mean["worst"] = max(one["worst"] for one in all_of)
    return mean
