"""Figures of YCSB's answers.

    table.py check FILE OPERATION COUNT    status 1 unless so many operations were done, all of them well
    table.py tables FOLDER                 Markdown of the results of ycsb.sh
"""
import collections
import pathlib
import statistics
import sys

COLUMNS = {
    "ironbark": "Ironbark",
    "ironbark-latest": "Ironbark, don't use copy",
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
                lines.append([NAMES[workload], title + (f" ({bad:,.0f} failed)" if bad else ""),
                              f"{found['OVERALL', 'Throughput(ops/sec)']:,.0f}",
                              milliseconds(found, "READ"), milliseconds(found, "UPDATE")])
        yield rows([f"{threads} threads", "store", "operations a second", "reads: p50, p99 ms", "updates: p50, p99 ms"], lines)


def sizes(path):
    """Median of the three copies, in MB, by the name without the number."""
    by_name = collections.defaultdict(list)
    for line in path.read_text().split("\n"):
        if line:
            name, *numbers = line.split()
            by_name["".join(letter for letter in name if not letter.isdigit())].append([int(one) for one in numbers])
    return {name: [statistics.median(column) * 1024 / 1e6 for column in zip(*values)] for name, values in by_name.items()}


def load(folder):
    lines = []
    for store, title in STORES.items():
        path = folder / f"{store}.load"
        if not path.exists():
            continue
        disk, end = sizes(folder / f"{store}.disk"), sizes(folder / f"{store}.disk-end")
        parts = ["ironbark/db", "etcd"] if store == "ironbark" else ["cassandra/data", "cassandra/commitlog"]
        lines.append([title, f"{figures(path)['OVERALL', 'Throughput(ops/sec)']:,.0f}",
                      *[f"{disk[part][0]:,.0f}, {end[part][0]:,.0f}" for part in parts]])
    yield rows(["store", "inserts a second, 64 threads", "data, MB on disk of a copy: loaded, at the end",
                "log (etcd, commit log), MB of a copy"], lines)


def memory(folder):
    lines = []
    for column, title in COLUMNS.items():
        path = folder / f"{column}.memory"
        if path.exists():
            for name, (resident, own) in sizes(path).items():
                lines.append([title, name, f"{resident:,.0f}", f"{own:,.0f}"])
    yield rows(["column", "process", "resident, MB", "of it not of files, MB"], lines)


def main():
    if sys.argv[1] == "check":
        found = figures(pathlib.Path(sys.argv[2]))
        good = found.get((sys.argv[3], "Return=OK"), 0)
        if failures(found) or good != int(sys.argv[4]):
            sys.exit(f"{good:.0f} of {sys.argv[4]} done, {failures(found):.0f} failed: {sys.argv[2]}")
        return
    folder = pathlib.Path(sys.argv[2])
    print("\n\n".join([*rates(folder), *load(folder), *memory(folder)]))


if __name__ == "__main__":
    main()
