#!/usr/bin/env python3
"""The simulation of docs/paper.md: runs every scenario, and writes its tables into the paper and its charts beside it.

    scripts/paper/simulate.py          # some minutes; the same bytes each time (Python 3.11, as in Debian 12)
    scripts/paper/simulate.py --check  # the same, and says whether what is there is what comes out

Python's standard library is all that it needs. Numbers come from seeds; nothing is measured here.
"""

import multiprocessing
import pathlib
import re
import sys

import chart
import etcd
import scenarios
import year

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAPER, CHARTS = DOCS / "paper.md", DOCS / "paper"
# docs/benchmarks.md, Cluster: clients, modifications a second, p50 and p99 in ms.
MEASURED = [(1, 614, 1.4, 4.9), (16, 3659, 3.7, 11), (128, 8562, 13, 33), (1024, 11426, 89, 148)]
# The same page, What it takes: clients at each server, servers that write, changes a second, overtaken groups a second.
SEVERAL = [
    (1, 1, 517, 0),
    (1, 2, 424, 313),
    (1, 3, 360, 299),
    (16, 1, 3312, 0),
    (16, 2, 3071, 151),
    (16, 3, 2717, 139),
    (128, 1, 8416, 0),
    (128, 2, 7259, 42),
    (128, 3, 7330, 38.8),
]
RATES = [250, 500, 1000, 2000, 4000, 6000, 8000, 10000, 12000, 14000, 16000]
ROUND_TRIPS = [0.2e-3, 2e-3]
FLEET_RATES = [25_000, 50_000, 100_000, 200_000, 300_000]
LEADER_SEEDS, YEARS = 15, 300


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(cell if isinstance(cell, str) else number(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def calibration(pool):
    found = pool.map(scenarios.one_machine, [clients for clients, *_ in MEASURED])
    rows = []
    for (clients, rate, p50, p99), ((its_rate, its_p50, its_p99), _) in zip(MEASURED, found):
        rows.append([clients, rate, its_rate, f"{100 * (its_rate / rate - 1):+.0f} %", p50, its_p50, p99, its_p99])
    heads = (
        "clients | measured, a second | simulated | difference | p50 ms, measured | simulated | p99 ms, "
        "measured | simulated"
    ).split(" | ")
    return {"calibration": table(heads, rows)}, {}


def several(pool):
    """What was not used to fit the figures: several servers that write."""
    found = pool.starmap(scenarios.one_machine, [(clients, servers) for clients, servers, *_ in SEVERAL])
    alone, rows = {}, []
    for (clients, servers, rate, overtaken), ((its_rate, *_), its_overtaken) in zip(SEVERAL, found):
        if servers == 1:
            alone[clients] = rate, its_rate
            continue
        mine, its = alone[clients]
        rows.append(
            [
                f"{clients} at each of {servers}",
                f"{100 * rate / mine:.0f} %",
                f"{100 * its_rate / its:.0f} %",
                100 * overtaken / rate,
                100 * its_overtaken / its_rate,
            ]
        )
    heads = (
        "clients, servers that write | rate, of that with one: measured | simulated | groups overtaken for "
        "100 changes: measured | simulated"
    ).split(" | ")
    return {"several": table(heads, rows)}, {}


def load(pool):
    cases = [(rate, trip) for trip in ROUND_TRIPS for rate in RATES]
    found = dict(zip(cases, pool.starmap(scenarios.over_load, cases)))
    heads = ["changes a second"] + [f"RTT {trip * 1e3:g} ms: done, p50, p99 ms" for trip in ROUND_TRIPS]
    rows = [[number(rate)] + [", ".join(map(number, found[rate, trip])) for trip in ROUND_TRIPS] for rate in RATES]
    series = []
    for trip in ROUND_TRIPS:
        for index, name in ((1, "p50"), (2, "p99")):
            points = [(rate, found[rate, trip][index]) for rate in RATES]
            series.append((f"{name}, RTT {trip * 1e3:g} ms", points, *(["dashed"] if index == 2 else [])))
    image = chart.lines("Simulated: one partition, writes at one server", "changes a second", "ms", series, log_y=True)
    return {"load": table(heads, rows)}, {"load.svg": image}


WRITERS, WAYS = (1, 2, 3, 6), (etcd.NONE, etcd.TURNS, etcd.QUEUE)


def turns(pool):
    cases = [(writers, 384, trip, way) for trip in ROUND_TRIPS for way in WAYS for writers in WRITERS]
    found = dict(zip(cases, pool.starmap(scenarios.contended, cases)))
    heads = (
        "RTT, servers that write | way | changes a second | p50 ms | p99 ms | longest wait ms | executions "
        "of a change | slowest server, part of its share"
    ).split(" | ")
    rows, series = [], []
    for trip in ROUND_TRIPS:
        for writers in WRITERS:
            for way in WAYS if writers > 1 else (etcd.TURNS,):
                *figures, slowest = found[writers, 384, trip, way]
                rows.append(
                    [
                        f"{trip * 1e3:g} ms, {writers}",
                        way if writers > 1 else "alone",
                        *figures,
                        f"{100 * slowest:.0f} %",
                    ]
                )
        for way in WAYS[1:]:
            points = [(writers, found[writers, 384, trip, way][2]) for writers in WRITERS]
            series.append((f"{way}, RTT {trip * 1e3:g} ms", points, *([] if way == etcd.TURNS else ["dashed"])))
    image = chart.lines("Simulated: p99 of 384 clients at k servers", "servers that write", "ms", series)
    return {"turns": table(heads, rows)}, {"turns.svg": image}


def gaps(pool):
    rows = []
    for election in (0.5, 1.0):
        cases = [(election, 0.2e-3, seed) for seed in range(1, LEADER_SEEDS + 1)]
        found = pool.starmap(scenarios.leader_lost, cases)
        times = sorted(gap for gap, _ in found)
        rows.append(
            [
                f"etcd's leader dies, election timeout {election * 1e3:g} ms",
                times[len(times) // 2],
                times[-1],
                number(sum(refused for _, refused in found)),
            ]
        )
    times = sorted(pool.map(scenarios.server_lost, range(1, LEADER_SEEDS + 1)))
    rows.append(["one of three writing servers dies: at the others", times[len(times) // 2], times[-1], "0"])
    return {"gaps": table(["what fails", "without an answer, s, median", "longest", "refused or unknown"], rows)}, {}


def one_fleet(case):
    rate, skew, trip, seconds = case
    return scenarios.Fleet(1, round_trip=trip).run(rate, skew, seconds)


def fleet(pool):
    cases = [(rate, skew, 0.2e-3, 0.2) for skew in (0, 0.5, 1) for rate in FLEET_RATES]
    cases += [(rate, 0.5, 2e-3, 0.2) for rate in (100_000, 200_000)]
    found = dict(zip(cases, pool.map(one_fleet, cases, chunksize=1)))
    heads = (
        "writes asked a second | Zipf | RTT, ms | done | p50 ms | p99 ms | hottest partition: done | p99 "
        "ms | busiest server, cores of 16 | busiest member, cores of 8 | written by a server, MB/s"
    ).split(" | ")
    keys = ("rate", "p50", "p99", "hottest", "hottest p99", "cores", "etcd cores", "disk")
    rows = [
        [rate, f"{skew:g}", trip * 1e3, *(found[rate, skew, trip, seconds][key] for key in keys)]
        for rate, skew, trip, seconds in cases
    ]
    series = [
        (
            f"Zipf {skew:g}",
            [
                (rate / 1e3, found[rate, skew, trip, seconds]["p99"])
                for rate, its, trip, seconds in cases
                if its == skew and trip == 0.2e-3
            ],
        )
        for skew in (0, 0.5, 1)
    ]
    image = chart.lines(
        "Simulated: 128 partitions, p99 of all writes", "thousand writes a second", "ms", series, log_y=True
    )
    return {"fleet": table(heads, rows)}, {"fleet.svg": image}


def one_fate(fate):
    return year.years(fate, YEARS)


def availability(pool):
    usual = year.Fate()
    cases = [
        ("as assumed", usual),
        ("a person replaces a lost machine, 4 h", year.Fate(replace_s=4 * 3600)),
        ("that, and entries of 1.2 KB", year.Fate(replace_s=4 * 3600, copy_s=240)),
        ("copies placed without regard to racks", year.Fate(knows_racks=False)),
        ("ten times as many losses of disks", year.Fate(losses=0.5)),
        ("etcd's election takes 0.7 s", year.Fate(election_s=0.7)),
    ]
    found = pool.map(one_fate, [fate for _, fate in cases], chunksize=1)
    heads = [
        "case",
        "min a year with a copy missing",
        "s a year with two missing",
        "reads: s a year without",
        "writes: s a year without",
        "of these in elections and turns",
        "writes, available %",
        f"partitions lost in {YEARS:,} years",
    ]
    rows = [
        [
            name,
            its["one"] / 60,
            its["two"],
            its["reads"],
            its["writes"],
            its["gaps"],
            f"{100 * (1 - its['writes'] / year.YEAR):.5f}",
            str(its["gone"]),
        ]
        for (name, _), its in zip(cases, found)
    ]
    return {"availability": table(heads, rows)}, {}


def written(paper, tables):
    """The paper with these tables between its marks."""
    for name, text in tables.items():
        pattern = re.compile(rf"(<!-- simulated {name} -->\n).*?(<!-- /simulated -->)", re.DOTALL)
        paper, count = pattern.subn(lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", paper)
        if count != 1:
            sys.exit(f"{PAPER} has no place for the table {name}")
    return paper


def main():
    tables, images = {}, {}
    with multiprocessing.Pool() as pool:
        for part in (calibration, several, load, turns, gaps, fleet, availability):
            print(part.__name__, file=sys.stderr, flush=True)
            more_tables, more_images = part(pool)
            tables, images = tables | more_tables, images | more_images
    before = PAPER.read_text()
    after = written(before, tables)
    if sys.argv[1:] == ["--check"]:
        same = after == before and all((CHARTS / name).read_text() == text for name, text in images.items())
        sys.exit(0 if same else "the paper has other figures than the simulation")
    PAPER.write_text(after)
    CHARTS.mkdir(exist_ok=True)
    for name, text in images.items():
        (CHARTS / name).write_text(text)


if __name__ == "__main__":
    main()
