"""Tests of the simulation of docs/paper.md.

python3 -m unittest discover --start-directory scripts/paper
"""

import pathlib
import re
import unittest
import xml.etree.ElementTree

import chart
import scenarios
import simulate
import year
from engine import Cpu, Disk, Simulation
from etcd import NONE, QUEUE, TURNS
from figures import APART
from load import Load, closed

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


class Engine(unittest.TestCase):
    def test_two_tasks_share_a_core_and_two_cores_serve_two(self):
        for cores, expected in ((1, 0.02), (2, 0.01)):
            simulation, ends = Simulation(1), []
            cpu = Cpu(simulation, cores)
            for _ in range(2):
                cpu.run(0.01).then(lambda _, simulation=simulation, ends=ends: ends.append(simulation.now))
            simulation.run(1)
            self.assertAlmostEqual(ends[-1], expected)

    def test_a_disk_flushes_one_after_the_other(self):
        simulation, ends = Simulation(1), []
        disk = Disk(simulation, 0.001, 0, 1000)
        for octets in (0, 1):
            disk.flush(octets).then(lambda _: ends.append(round(simulation.now, 6)))
        simulation.run(1)
        self.assertEqual(ends, [0.001, 0.003])


class Cluster(unittest.TestCase):
    def run_cluster(self, turns=TURNS, clients=8, fault=None, seconds=4):
        simulation = Simulation(7)
        log, nodes = scenarios.apart(simulation, APART, turns=turns)
        load = Load(simulation, 0)
        for node in nodes:
            closed(simulation, load, node, clients, None, APART)
        if fault:
            simulation.after(1, fault, log, nodes)
        simulation.run(seconds)
        return log, nodes, load

    def check_log(self, log, nodes, load, lost=0):
        """Each batch stands behind the one before; what was answered is in the log, once; each server has a prefix."""
        ends, at = {0}, 1
        while at in log.batches:
            self.assertEqual(log.batches[at].first, at)
            at = log.batches[at].last + 1
            ends.add(at - 1)
        self.assertEqual(log.tail, at - 1)
        self.assertLessEqual(len(load.latencies), log.tail)
        # What is in the log and was not answered is under way, or was at a server that died.
        self.assertLessEqual(log.tail - len(load.latencies), len(load.waiting))
        for node in nodes:
            self.assertIn(node.position, ends)
        self.assertEqual(load.refused, 0)

    def test_what_is_answered_is_in_the_log_once_however_servers_give_way(self):
        for turns in (NONE, TURNS, QUEUE):
            self.check_log(*self.run_cluster(turns))

    def test_nothing_is_lost_or_doubled_when_the_leader_of_etcd_dies(self):
        log, nodes, load = self.run_cluster(fault=lambda log, _: log.etcd.lose_leader(1))
        self.check_log(log, nodes, load)
        self.assertGreater(load.times[-1], 3.9)
        self.assertGreater(load.longest_gap(), 0.5)

    def test_others_go_on_a_tenth_of_a_second_after_a_server_dies(self):
        log, nodes, load = self.run_cluster(fault=lambda _, nodes: setattr(nodes[0], "is_up", False))
        self.check_log(log, nodes, load)
        self.assertLess(load.longest_gap(), 0.15)

    def test_without_turns_a_server_starves_and_with_them_none_does(self):
        slowest = {turns: scenarios.contended(3, 48, 2e-3, turns)[5] for turns in (NONE, TURNS, QUEUE)}
        self.assertLess(slowest[NONE], 0.2)
        self.assertGreater(slowest[TURNS], 0.6)
        self.assertGreater(slowest[QUEUE], 0.9)

    def test_the_same_seed_gives_the_same_figures(self):
        one, same, other = (scenarios.over_load(800, 0.2e-3, 0.5, seed) for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)


class Calibration(unittest.TestCase):
    def test_the_measured_figures_are_those_of_the_page_of_benchmarks(self):
        section = (DOCS / "benchmarks.md").read_text().partition("\n## Cluster\n")[2]
        rows = re.findall(
            r"^\| ([\d,]+) \| ([\d,]+) \| ([\d.]+), ([\d.]+) \| [\d,]+ \| [\d.]+, [\d.]+ \|$", section, re.MULTILINE
        )
        self.assertEqual([tuple(float(cell.replace(",", "")) for cell in row) for row in rows], simulate.MEASURED)

    def test_the_model_gives_the_measured_rates_and_the_paper_says_what_it_gives(self):
        paper = (DOCS / "paper.md").read_text().partition("<!-- simulated calibration -->")[2]
        for clients, rate, *_ in simulate.MEASURED:
            simulated = scenarios.one_machine(clients)[0][0]
            self.assertLess(abs(simulated / rate - 1), 0.1, clients)
            said = re.search(rf"^\| {clients:,}(?:\.0)? \| [\d,]+ \| ([\d,]+)", paper, re.MULTILINE)[1]
            self.assertLess(abs(float(said.replace(",", "")) / simulated - 1), 0.02, clients)


class Years(unittest.TestCase):
    def test_what_copies_miss_together_is_the_overlap_of_their_intervals(self):
        copies = [[(0, 10, False)], [(5, 15, False)], [(9, 12, False)]]
        self.assertEqual(year.overlap(copies), ([5 + 3, 4 + 2, 1], False))
        self.assertTrue(year.overlap([[(0, 10, True)], [(5, 15, True)], [(9, 12, True)]])[1])

    def test_copies_stand_in_different_racks_and_machines_have_as_many(self):
        fate = year.Fate()
        places = year.placement(fate, year.random.Random(1))
        self.assertTrue(all({machine % 3 for machine in place} == {0, 1, 2} for place in places))
        counts = [sum(machine in place for place in places) for machine in range(fate.machines)]
        self.assertEqual((min(counts), max(counts)), (32, 32))


class Output(unittest.TestCase):
    def test_a_chart_is_xml_with_a_line_for_each_series(self):
        for is_log in (False, True):
            text = chart.lines(
                "a < b", "x", "y", [("one", [(1, 1), (10, 500)]), ("two", [(1, 2), (10, 3)], "dashed")], is_log, is_log
            )
            root = xml.etree.ElementTree.fromstring(text)
            self.assertEqual(len(root.findall("{*}path")), 2)

    def test_a_table_goes_between_its_marks_alone(self):
        before = "a\n<!-- simulated x -->\nold\n<!-- /simulated -->\nb\n"
        after = simulate.written(before, {"x": "| new |"})
        self.assertEqual(after, "a\n<!-- simulated x -->\n\n| new |\n\n<!-- /simulated -->\nb\n")
        with self.assertRaises(SystemExit):
            simulate.written(before, {"y": ""})


if __name__ == "__main__":
    unittest.main()
