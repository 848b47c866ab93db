"""`python3 -m unittest discover --start-directory scripts/bench`."""
import json
import tempfile
import unittest
from pathlib import Path

import chart
import results


def point(clients, rate, kind="search", code="0"):
    latency = {"mean": 1.0, "p50": 1.0, "p95": 1.0, "p99": 1.0, "p999": 1.0, "max": 1.23456789, "curve": [[0.0, 1.0]]}
    operation = {"kind": kind, "count": 1, "latency": latency, "expected_codes": [0], "codes": {"0": 9, code: 9}}
    return {
        "clients": clients,
        "in_flight": 1,
        "rate": rate,
        "entries_rate": 0.0,
        "latency": latency,
        "operations": [operation],
        "series": {"interval": 0.25, "rates": [rate]},
    }


class Results(unittest.TestCase):
    def rounds(self, *rates):
        command = ["ironbark", "load", "session", "--ca-file", "/bench/tls/ca.crt"]
        result = {"label": "ironbark", "workload": "search", "unit": "operations", "command": command}
        return [dict(result, points=[point(1, rate), point(8, 2 * rate)]) for rate in rates]

    def test_the_median_round_stands_for_all(self):
        merged = results.merged(self.rounds(300.0, 100.0, 200.0))
        self.assertEqual([one["rate"] for one in merged["points"]], [200.0, 400.0])

    def test_folders_of_the_machine_are_left_out(self):
        command = results.merged(self.rounds(100.0))["command"]
        self.assertEqual(command, ["ironbark", "load", "session", "--ca-file", "ca.crt"])

    def test_only_the_best_measurement_keeps_curve_and_series(self):
        few, best = results.merged(self.rounds(100.0))["points"]
        self.assertEqual((few["series"]["rates"], few["latency"]["curve"]), ([], []))
        self.assertEqual((best["series"]["rates"], best["latency"]["curve"]), ([200.0], [[0.0, 1.0]]))
        self.assertEqual(best["latency"]["max"], 1.23457)

    def test_a_kind_with_unexpected_codes_is_kept(self):
        worse = point(1, 1.0)
        worse["operations"] += point(1, 1.0, "initial", "11")["operations"]
        kept = results.without_details({}, worse)["operations"]
        self.assertEqual([operation["kind"] for operation in kept], ["initial"])

    def test_new_results_take_the_place_of_those_of_the_same_name(self):
        with tempfile.TemporaryDirectory() as folder:
            before, results.TRACKED = results.TRACKED, Path(folder) / "results.jsonl"
            try:
                for rate in (100.0, 500.0):
                    file = Path(folder) / "one.json"
                    file.write_text(json.dumps(self.rounds(rate)[0]))
                    results.pack([file])
                self.assertEqual([one["points"][0]["rate"] for one in results.tracked()], [500.0])
            finally:
                results.TRACKED = before


class Picture(unittest.TestCase):
    def test_the_picture_of_the_front_page_is_that_of_the_results(self):
        self.assertEqual(chart.PICTURE.read_text(), chart.picture(), "run scripts/bench/chart.py")


if __name__ == "__main__":
    unittest.main()
