#!/usr/bin/env python3
"""Replication, measured in turns with slapd as provider and consumer, and with Ironbark as both; prints a table. replication.sh starts it.

    replication.py [lag|rate|refresh|missed|delta|consumers|wire|accounts]...
"""

import math
import os
import signal
import statistics
import sys
import time

from followers import Followers
from replicas import DELTA, ENTRIES, FOLDER, LOG, SYNCPROV, Overdue, Server, converge, stop_all, until

SECONDS = os.environ["SECONDS_EACH"]
ROUNDS = int(os.environ["ROUNDS"])
SLOW_ROUNDS = int(os.environ["SLOW_ROUNDS"])
PROBE = "ou=hlr1,o=telco", "description"
LAG_RATES = [int(rate) for rate in os.environ["LAG_RATES"].split()]
PROBE_PATIENCE_S = 10


def prepare(kind, data="telco"):
    """A server that does not run, with the data."""
    origin = Server(kind, "base-" + data, data)
    if not (origin.folder / "db").exists():
        origin.fill(FOLDER / f"{data}.ldif")
        origin.start().stop()
    return origin


def provide(kind, overlays=SYNCPROV, data="telco"):
    provider = Server(kind, "provider", data).copy(prepare(kind, data))
    provider.configure(overlays)
    return provider.start()


def pair(kind, overlays=SYNCPROV, words="", data="telco"):
    """Provider and consumer, which has everything."""
    provider = provide(kind, overlays, data)
    consumer = Server(kind, "consumer", data).copy(prepare(kind, data))
    consumer.configure(follows=provider, words=words)
    consumer.start()
    provider.replace(*(PROBE if data == "telco" else (provider.suffix, "description")), "first")
    converge(provider, consumer)
    return provider, consumer


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def lag(kind):
    """Beside the load one entry is changed again and again, and read from the consumer until the change is there."""
    for rate in LAG_RATES:
        provider, consumer = pair(kind)
        process, _ = provider.load("-c", "16", "--rate", str(rate), "-s", SECONDS, background=True)
        lags = []
        while process.poll() is None:
            value = f"change {len(lags)}."
            provider.replace(*PROBE, value)
            try:
                lags.append(until(lambda: value.encode() in consumer.read(*PROBE), PROBE_PATIENCE_S)[1] * 1000)
            except Overdue:
                lags.append(PROBE_PATIENCE_S * 1000)
        rest = converge(provider, consumer)
        yield f"lag at {rate} writes/s, p50, ms", percentile(lags, 0.5), "less", ""
        yield f"lag at {rate} writes/s, p99, ms", percentile(lags, 0.99), "less", "< 50"
        yield f"after {SECONDS} s of {rate} writes/s: seconds until the consumer has all", rest, "", ""
        stop_all()


def write_rate(server, *arguments):
    return server.load("-c", "64", "-s", SECONDS, *arguments)["rate"]


def sustained(provider, consumer):
    """The highest rate after which the consumer has all within a second: what it got done under full load, or somewhat less."""
    start = time.perf_counter()
    rate = write_rate(provider)
    if converge(provider, consumer) < 1:
        return rate
    # A second of warming up belongs to it.
    limit = rate * (float(SECONDS) + 1) / (time.perf_counter() - start)
    for part in (1, 0.9, 0.8, 0.7, 0.6, 0.5):
        rate = write_rate(provider, "--rate", str(int(limit * part)))
        if converge(provider, consumer) < 1:
            return rate
    return math.nan


def rate(kind):
    provider, consumer = pair(kind)
    consumer.stop()
    alone = write_rate(provider)
    consumer.start()
    converge(provider, consumer)
    highest = sustained(provider, consumer)
    stop_all()
    yield "writes/s of a provider without a consumer, 64 clients", alone, "more", ""
    yield "highest rate without growing lag", highest, "more", ""
    yield "part of it, %", highest / alone * 100, "more", ">= 90"


def refresh(kind):
    for data in os.environ["REFRESH_SETS"].split():
        provider = provide(kind, data=data)
        consumer = Server(kind, "consumer", data).empty()
        consumer.configure(follows=provider)
        start = time.perf_counter()
        consumer.start()
        converge(provider, consumer)
        yield f"entries/s of a refresh into an empty database, {data}", ENTRIES / (time.perf_counter() - start), "more", ">= 20000"
        stop_all()


def absence(provider, consumer, changes):
    """Seconds from the start of the consumer until it has what it has missed."""
    consumer.stop()
    if changes:
        provider.load("-c", "64", "-n", str(changes))
    start = time.perf_counter()
    consumer.start()
    converge(provider, consumer)
    return time.perf_counter() - start


def missed(kind):
    provider, consumer = pair(kind)
    for changes in [0, *map(int, os.environ["MISSED"].split())]:
        goal = {1000: "100 more than with 0", 100_000: "< 15000"}.get(changes, "")
        yield f"start of the consumer until it has {changes} changes, ms", absence(provider, consumer, changes) * 1000, "less", goal
    stop_all()


def delta(kind):
    provider, consumer = pair(kind, SYNCPROV + LOG, DELTA)
    nothing = absence(provider, consumer, 0)
    seconds = absence(provider, consumer, 20_000)
    yield "delta: changes/s after 20000 that were missed", 20_000 / (seconds - nothing), "more", ">= 15000"
    consumer.stop()
    logged = write_rate(provider)
    stop_all()
    lag = "accesslog-lag 100\n" if kind == "ironbark" else ""
    lagging = write_rate(provide(kind, SYNCPROV + LOG + lag))
    stop_all()
    alone = write_rate(provide(kind))
    stop_all()
    yield "writes/s with overlay accesslog, 64 clients", logged, "more", ""
    yield "part of those without, %", logged / alone * 100, "more", ">= 85"
    yield "the same with accesslog-lag 100 (Ironbark alone has it), %", lagging / alone * 100, "more", ">= 85"


def follow(kind, count, changes, stopped=0):
    """Processor seconds of the provider, and its memory beside the page cache: before followers, with them, after the changes."""
    provider = provide(kind)
    write_rate(provider)
    memory = [provider.private_kb()]
    followers = Followers(provider, count, stopped)
    memory.append(provider.private_kb())
    before = provider.seconds()
    process, _ = provider.load("-c", "16", "--rate", "1000", "-n", str(changes), background=True)
    followers.receive(lambda: process.poll() is not None)
    followers.receive_all(max(provider.vector()))
    seconds = provider.seconds() - before
    memory.append(provider.private_kb())
    followers.close()
    stop_all()
    return seconds, memory


def consumers(kind):
    changes = 1000 * int(SECONDS)
    alone, _ = follow(kind, 0, changes)
    for count in (1, 10, 100):
        seconds, _ = follow(kind, count, changes)
        yield f"CPU us of the provider for each change and consumer, {count}", (seconds - alone) / changes / count * 1e6, "less", ""
    _, memory = follow(kind, 100, 20_000, stopped=1)
    yield "KB of memory for each of 100 consumers", (memory[1] - memory[0]) / 100, "less", ""
    yield "KB more after 20000 changes, of which one consumer reads none", memory[2] - memory[1], "less", ""


def wire(kind):
    """What the consumer receives; a random subscriber gets another value of one attribute."""
    changes = 1000 * int(SECONDS)
    for name, overlays, words in ("entries", SYNCPROV, ""), ("delta", SYNCPROV + LOG, DELTA):
        provider, consumer = pair(kind, overlays, words)
        before = consumer.received_from(provider)
        provider.load("-c", "16", "-n", str(changes))
        converge(provider, consumer)
        yield f"octets on the wire for each change, {name}", (consumer.received_from(provider) - before) / changes, "less", ""
        stop_all()


def accounts(kind):
    """The source text's run: 28,000 modifications of mail accounts, one after the other."""
    for name, overlays in ("single node", ""), ("with accesslog and a delta consumer", SYNCPROV + LOG):
        provider, consumer = pair(kind, overlays, DELTA, "zimbra") if overlays else (provide(kind, "", "zimbra"), None)
        seconds = provider.replay(28_000)
        yield f"seconds for 28,000 modifications of accounts, {name}", seconds, "less", ""
        if consumer:
            yield "seconds until the consumer has all of them", converge(provider, consumer), "", ""
            size = (provider.folder / "log" / "data.mdb").stat().st_blocks * 512
            yield "MB of the log of these", size / 1e6, "less", ""
        stop_all()


def show(number):
    return "-" if math.isnan(number) else f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def median(values):
    numbers = [value for value in values if not math.isnan(value)]
    return statistics.median_low(numbers) if numbers else math.nan


def table(figure):
    """Rows of the medians, and of the ratio of the same round."""
    found = {}
    for _ in range(SLOW_ROUNDS if figure in (refresh, missed) else ROUNDS):
        for kind in ("slapd", "ironbark"):
            for label, value, better, goal in figure(kind):
                print(f"{kind}: {label}: {show(value)}", file=sys.stderr, flush=True)
                row = found.setdefault(label, {"slapd": [], "ironbark": [], "better": better, "goal": goal})
                row[kind].append(value)
    for label, row in found.items():
        ratios = [ours / theirs if row["better"] == "more" else theirs / ours for theirs, ours in zip(row["slapd"], row["ironbark"]) if ours and theirs]
        ratio = show(median(ratios)) if row["better"] else ""
        print(f"| {label} | {show(median(row['slapd']))} | {show(median(row['ironbark']))} | {ratio} | {row['goal']} |", flush=True)


FIGURES = {figure.__name__: figure for figure in (lag, rate, refresh, missed, delta, consumers, wire, accounts)}


def main(names):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("| | slapd | ironbark | times as good | goal |\n|---|---|---|---|---|")
    try:
        for name in names or FIGURES:
            table(FIGURES[name])
    finally:
        stop_all()


if __name__ == "__main__":
    main(sys.argv[1:])
