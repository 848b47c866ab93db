#!/usr/bin/env python3
"""The measured results of `ironbark load` in a compact form that is tracked, data/benchmarks.jsonl: one result a line.

  results.py pack FILE...     put these results, as `ironbark load -o` wrote them, in the place of earlier ones
  results.py unpack FOLDER    write each result as a file that `ironbark load report` reads, and print their names

Of several rounds of a workload the one with the median rate is kept, as in the page. Only the measurement with the best
rate keeps its kinds of operations, its curve of latencies and its rate over time: the page shows no others.
"""
import json
import sys
from pathlib import Path

TRACKED = Path(__file__).parent.parent.parent / "data" / "benchmarks.jsonl"


def rate(result, point):
    return point["entries_rate" if result["unit"] == "entries" else "rate"]


def rounded(value):
    """Six digits are more than a measurement has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return value


def without_details(result, point):
    """A measurement that is only a row of a table: one kind of operation with all codes that were not expected."""
    kept = dict(point, series={"interval": 0.0, "rates": []}, latency=dict(point["latency"], curve=[]))
    few = [op for op in point["operations"] if set(map(int, op["codes"])) - set(op["expected_codes"])]
    kept["operations"] = [dict(op, latency=dict(op["latency"], curve=[])) for op in few or point["operations"][:1]]
    return kept


def merged(rounds):
    """One result of the rounds of a workload."""
    first = rounds[0]
    shapes = {}
    for result in rounds:
        for point in result["points"]:
            shapes.setdefault((point["clients"], point["in_flight"]), []).append(point)
    points = []
    for of_shape in shapes.values():
        of_shape.sort(key=lambda point: rate(first, point))
        points.append(of_shape[(len(of_shape) - 1) // 2])
    best = max(points, key=lambda point: rate(first, point))
    kept = [point if point is best else without_details(first, point) for point in points]
    # Folders of the machine say nothing to others.
    command = [Path(word).name if word.startswith("/") else word for word in first["command"]]
    return dict(first, command=command, points=rounded(kept))


def key(result):
    return (result["workload"], result["label"])


def tracked():
    return [json.loads(line) for line in TRACKED.read_text().splitlines()] if TRACKED.exists() else []


def pack(files):
    rounds = {}
    for file in files:
        result = json.loads(Path(file).read_text())
        rounds.setdefault(key(result), []).append(result)
    new = {name: merged(results) for name, results in rounds.items()}
    kept = [new.pop(key(result), result) for result in tracked()] + list(new.values())
    lines = [json.dumps(result, separators=(",", ":"), ensure_ascii=False) + "\n" for result in kept]
    TRACKED.write_text("".join(lines))


def unpack(folder):
    for number, result in enumerate(tracked()):
        path = Path(folder) / f"{number:03}.json"
        path.write_text(json.dumps(result))
        print(path)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack", *files] if files:
            pack(files)
        case ["unpack", folder]:
            unpack(folder)
        case _:
            sys.exit(__doc__)
