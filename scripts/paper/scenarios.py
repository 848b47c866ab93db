"""What is simulated: each function builds machines, servers and clients, runs them, and returns figures."""

from engine import Cpu, Simulation, Thread, percentile
from etcd import TURNS, Etcd, Log, Member
from figures import APART, MEASURED
from load import Load, chooser, closed, opened, zipf
from node import Node

WARM_UP, FLEET_WARM_UP = 1.0, 0.15


def one_machine(clients, writers=1, seconds=4.0, seed=1, turns=TURNS):
    """The measured set-up: three servers, one member of etcd and the clients on two cores and one disk."""
    simulation, figures = Simulation(seed), MEASURED
    cpu, disk = Cpu(simulation, 2), figures.disk(simulation)
    log = Log(Etcd(simulation, [Member(cpu, disk)], figures))
    nodes = [Node(simulation, cpu, disk, log, figures, turns) for _ in range(3)]
    load = Load(simulation, WARM_UP)
    for node in nodes[:writers]:
        closed(simulation, load, node, clients, cpu, figures)
    simulation.run(WARM_UP + seconds)
    return load.summary(WARM_UP + seconds), sum(node.overtaken for node in nodes) / (WARM_UP + seconds)


def apart(simulation, figures, nodes=3, cores=4, members=3, turns=TURNS):
    """Servers and members of etcd on machines of their own."""

    def machine():
        return Cpu(simulation, cores), figures.disk(simulation)

    log = Log(Etcd(simulation, [Member(*machine()) for _ in range(members)], figures))
    made = [Node(simulation, *machine(), log, figures, turns) for _ in range(nodes)]
    for number, node in enumerate(made):
        node.member = number
    return log, made


def over_load(rate, round_trip, seconds=3.0, seed=1):
    """Writes at random, so many a second, at one server of a partition: rate, p50, p99 in ms."""
    simulation, figures = Simulation(seed), APART.on(round_trip=round_trip)
    _, nodes = apart(simulation, figures)
    load = Load(simulation, WARM_UP)
    opened(simulation, load, nodes[:1], rate)
    simulation.run(WARM_UP + seconds)
    return load.summary(WARM_UP + seconds)


def contended(writers, clients, round_trip, turns, seconds=4.0, seed=1):
    """So many clients in all, spread over servers that write at once: rate, p50, p99 and the longest wait in ms,
    executions of a change, and the rate of the slowest server as a part of the fair one."""
    simulation, figures = Simulation(seed), APART.on(round_trip=round_trip)
    _, nodes = apart(simulation, figures, nodes=max(3, writers), turns=turns)
    loads = [Load(simulation, WARM_UP) for _ in range(writers)]
    for node, load in zip(nodes, loads):
        closed(simulation, load, node, clients // writers, None, figures)
    simulation.run(WARM_UP + seconds)
    latencies = [latency for load in loads for latency in load.latencies]
    waits = [simulation.now - sent for load in loads for sent in load.waiting]
    worst = max(latencies + waits)
    slowest = min(len(load.latencies) for load in loads) * writers / len(latencies)
    made = max(node.position for node in nodes)
    executions = sum(node.executed for node in nodes) / made
    p50, p99 = (percentile(latencies, part) * 1e3 for part in (0.5, 0.99))
    return len(latencies) / seconds, p50, p99, worst * 1e3, executions, slowest


def leader_lost(election, round_trip=0.2e-3, seed=1):
    """The leader of etcd dies: the longest time without an answer, and refused writes."""
    simulation = Simulation(seed)
    figures = APART.on(round_trip=round_trip, election=election, heartbeat=election / 10)
    log, nodes = apart(simulation, figures)
    load = Load(simulation, WARM_UP)
    opened(simulation, load, nodes[:1], 1000)
    simulation.after(WARM_UP + 0.1 + seed * 0.013, log.etcd.lose_leader, 30)
    simulation.run(WARM_UP + 5)
    return load.longest_gap(), load.refused


def server_lost(seed=1):
    """One of three writing servers dies at any moment: the longest time without an answer at the two others."""
    simulation, figures = Simulation(seed), APART
    _, nodes = apart(simulation, figures)
    load = Load(simulation, WARM_UP)
    closed(simulation, Load(simulation, 99), nodes[0], 16, None, figures)
    for node in nodes[1:]:
        closed(simulation, load, node, 16, None, figures)
    simulation.after(WARM_UP + 0.1 + seed * 0.0037, setattr, nodes[0], "is_up", False)
    simulation.run(WARM_UP + 1)
    return load.longest_gap()


class Fleet:
    """Partitions of three copies on machines, and clusters of etcd on others."""

    def __init__(
        self, seed, partitions=128, machines=12, cores=16, clusters=16, etcd_cores=8, round_trip=0.2e-3, processes=4
    ):
        self.simulation, self.figures = Simulation(seed), APART.on(round_trip=round_trip)
        figures = self.figures

        def machine(count):
            return Cpu(self.simulation, count), figures.disk(self.simulation)

        # A disk of its own for each copy's flushes: NVMe disks flush several files at once.
        self.machines = [Cpu(self.simulation, cores) for _ in range(machines)]
        # Each machine runs some processes; the copies of one share the thread that speaks with etcd.
        sessions = [[Thread(self.simulation, cpu) for _ in range(processes)] for cpu in self.machines]
        self.etcds = [
            Etcd(self.simulation, [Member(*machine(etcd_cores)) for _ in range(3)], figures) for _ in range(clusters)
        ]
        self.partitions = []
        for number in range(partitions):
            log = Log(self.etcds[number % clusters])
            copies = []
            for copy in range(3):
                place = (number + copy * (1 + number // machines % (machines // 3))) % machines
                session, disk = sessions[place][number // machines % processes], figures.disk(self.simulation)
                copies.append(Node(self.simulation, self.machines[place], disk, log, figures, session=session))
                copies[-1].member = number // clusters + copy
            self.partitions.append(copies)
        self.loads = [Load(self.simulation, FLEET_WARM_UP) for _ in self.partitions]

    def run(self, rate, skew, seconds):
        """Writes at random, so many a second in all, by Zipf's law; each partition's come to one of its servers."""
        simulation, find = self.simulation, chooser(zipf(len(self.partitions), skew))

        def send():
            number = find(simulation.random.random())
            # It is here now, and both ways count.
            node, load, sent = self.partitions[number][0], self.loads[number], simulation.now - self.figures.round_trip
            node.submit(lambda is_made: load.answered(sent, is_made))
            simulation.after(simulation.random.expovariate(rate), send)

        simulation.after(0, send)
        until = FLEET_WARM_UP + seconds
        simulation.run(until)
        all_of = [latency for load in self.loads for latency in load.latencies]
        hottest = self.loads[0].latencies
        etcd_cpus = [member.cpu.busy / until for etcd in self.etcds for member in etcd.members]
        return {
            "rate": len(all_of) / seconds,
            "p50": (percentile(all_of, 0.5) or 0) * 1e3,
            "p99": (percentile(all_of, 0.99) or 0) * 1e3,
            "hottest": len(hottest) / seconds,
            "hottest p99": (percentile(hottest, 0.99) or 0) * 1e3,
            "cores": max(cpu.busy / until for cpu in self.machines),
            "etcd cores": max(etcd_cpus),
            "disk": sum(node.disk.octets + node.unflushed for copies in self.partitions for node in copies)
            / len(self.machines)
            / until
            / 1e6,
        }
