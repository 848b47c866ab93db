"""Figures of YCSB's answers.

    table.py check FILE OPERATION COUNT    status 1 unless so many operations were done, all of them well
    table.py tables FOLDER PAGE            puts the results of ycsb.sh between the marks <!-- ycsb --> of a page
"""
import collections
import pathlib
import re
import statistics
import sys

COLUMNS = {
    "ironbark": "Ironbark",
    "ironbark-latest": "Ironbark, don't use copy",
    "ironbark-one": "Ironbark, all at one server",
    "cassandra-quorum": "Cassandra, QUORUM, batch",
    "cassandra-quorum-periodic": "Cassandra, QUORUM, periodic",
    "cassandra-one-periodic": "Cassandra, ONE, periodic",
}
STORES = {"ironbark": "Ironbark", "cassandra": "Cassandra, batch", "cassandra-periodic": "Cassandra, periodic"}
WORKLOADS = ["a", "b", "c", "80-20"]
NAMES = {"a": "A, 50 % updates", "b": "B, 5 % updates", "c": "C, reads", "80-20": "80/20, 20 % updates"}


def figures(path):
    """Section and name of each line of YCSB's answer, and its number."""
    found = {}
    for line in path.read_text().splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and parts[0].startswith("["):
            found[parts[0][1:-1], parts[1]] = float(parts[2])
    return found


def failures(found):
    """How many operations failed."""
    return sum(value for (section, name), value in found.items() if name.startswith("Return=") and name != "Return=OK")


def milliseconds(found, operation):
    """Median and 99th percentile; a dash if there are no such operations."""
    if (operation, "50thPercentileLatency(us)") not in found:
        return "–"
    values = [found[operation, f"{part}PercentileLatency(us)"] / 1000 for part in ("50th", "99th")]
    return ", ".join(f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in values)


def rows(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
                     + ["| " + " | ".join(line) + " |" for line in lines])


def rates(folder):
    results = collections.defaultdict(dict)
    for path in folder.iterdir():
        parts = path.name.split(".")
        if len(parts) == 3 and parts[2].isdigit():
            results[int(parts[2])][parts[1], parts[0]] = figures(path)
    for threads, by_name in sorted(results.items()):
        lines = []
        for workload in WORKLOADS:
            for column, title in COLUMNS.items():
                found = by_name.get((workload, column))
                if found is None:
                    continue
                bad = failures(found)
                cpu = float((folder / f"{column}.{workload}.{threads}.cpu").read_text())
                operations = found["OVERALL", "Throughput(ops/sec)"] * found["OVERALL", "RunTime(ms)"] / 1000
                lines.append([NAMES[workload], title + (f" ({bad:,.0f} failed)" if bad else ""),
                              f"{found['OVERALL', 'Throughput(ops/sec)']:,.0f}",
                              milliseconds(found, "READ"), milliseconds(found, "UPDATE"),
                              f"{cpu * 1e6 / operations:,.0f}" if operations else "–"])
        yield rows([f"{threads} threads", "store", "operations a second", "reads: p50, p99 ms", "updates: p50, p99 ms",
                    "processor time of all servers, µs an operation"], lines)


def sizes(path):
    """Median of the three copies, in MB, by the name without the number."""
    by_name = collections.defaultdict(list)
    for line in path.read_text().split("\n"):
        if line:
            name, *numbers = line.split()
            by_name["".join(letter for letter in name if not letter.isdigit())].append([int(one) for one in numbers])
    return {name: [statistics.median(column) * 1024 / 1e6 for column in zip(*values)] for name, values in by_name.items()}


def numbers(values):
    return ", ".join(f"{value:,.0f}" for value in values)


def stores(folder):
    lines = []
    for store, title in STORES.items():
        if not (folder / f"{store}.memory").exists():
            continue
        rate = figures(folder / f"{store}.load")["OVERALL", "Throughput(ops/sec)"]
        disks = [sizes(folder / f"{store}.{when}") for when in ("disk", "disk-end")]
        memory = sizes(folder / f"{store}.memory")
        data, log = ("ironbark/db", "etcd") if store == "ironbark" else ("cassandra/data", "cassandra/commitlog")
        lines.append([title, f"{rate:,.0f}", numbers(disk[data][0] for disk in disks), numbers(disk[log][0] for disk in disks),
                      "; ".join(f"{name} {numbers(values)}" for name, values in memory.items())])
    return rows(["store", "inserts a second, 64 threads", "data, MB a copy: loaded, at the end", "log, MB a copy: loaded, at the end",
                 "memory, MB a process: resident, of it not of files"], lines)


def main():
    if sys.argv[1] == "check":
        found = figures(pathlib.Path(sys.argv[2]))
        good = found.get((sys.argv[3], "Return=OK"), 0)
        if failures(found) or good != int(sys.argv[4]):
            sys.exit(f"{good:.0f} of {sys.argv[4]} done, {failures(found):.0f} failed: {sys.argv[2]}")
        return
    folder, page = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    text = "\n\n".join([(folder / "conditions").read_text().strip(), *rates(folder), stores(folder)])
    old = page.read_text()
    new, count = re.subn(r"(?s)(?<=<!-- ycsb -->\n).*(?=<!-- /ycsb -->)", lambda _: f"\n{text}\n\n", old)
    print(text)
    if count != 1:
        sys.exit(f"{page} has no place for it")
    page.write_text(new)


if __name__ == "__main__":
    main()
