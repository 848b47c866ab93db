#!/usr/bin/env python3
"""What a change, an entry and a node take in a cluster: three servers and one etcd on loopback. Prints a table.

    IRONBARK_BIN=target/release/ironbark scripts/bench/cluster.py [ENTRIES]
    PARTS='modify writers' ROUNDS=5 scripts/bench/cluster.py 20000

Everything is in the folder bench/cluster, and ends with the script. docs/cluster.md (Sizing) and docs/paper.md use
the figures.
"""

import atexit
import base64
import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "cluster"
BINARY = os.environ.get("IRONBARK_BIN", str(ROOT / "target/release/ironbark"))
ENTRIES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
SECONDS = int(os.environ.get("SECONDS_EACH", "8"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
PARTS = os.environ.get("PARTS", "flushes modify add writers away copies renewals").split()
ETCD, NODES = 14379, [1, 2, 3]
ADMIN = ["-D", "cn=root,dc=example,dc=com", "-w", "secret"]
# A search of the entry of the suffix, without its attributes.
READ = bytes.fromhex("303b0201016336 0411") + b"dc=example,dc=com" + bytes.fromhex("0a0100 0a0100 020100 020100 010100")
READ += bytes.fromhex("870b") + b"objectClass" + bytes.fromhex("30050403") + b"1.1"
UNAVAILABLE = 52
running = {}


def start(name, *command):
    with open(FOLDER / f"{name}.log", "ab") as log:
        running[name] = subprocess.Popen(command, stdout=log, stderr=log)


def stop(name, how=signal.SIGTERM):
    process = running.pop(name, None)
    if process:
        process.send_signal(how)
        process.wait()


def run(*command):
    begin = time.monotonic()
    subprocess.run([BINARY, *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def metrics(node, name):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{14100 + node}/metrics", timeout=1) as page:
            found = re.findall(rb"^" + name.encode() + rb"(?:\{[^}]*\})? (\S+)", page.read(), re.MULTILINE)
            return sum(float(value) for value in found)
    except OSError:
        return -1


def etcd(path, **fields):
    body = {name: base64.b64encode(value.encode()).decode() for name, value in fields.items()}
    request = urllib.request.Request(f"http://127.0.0.1:{ETCD}/v3/{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def status():
    return etcd("maintenance/status")


def cpu(name):
    fields = pathlib.Path(f"/proc/{running[name].pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def proc(name, file, key):
    text = pathlib.Path(f"/proc/{running[name].pid}/{file}").read_text()
    return int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE)[1])


def disk_kb(path):
    return os.stat(path).st_blocks // 2


def written():
    """Octets that were written to the disk of the folder, by whatever runs on the machine."""
    device = os.stat(FOLDER).st_dev
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        if (int(fields[0]), int(fields[1])) == (os.major(device), os.minor(device)):
            return int(fields[9]) * 512
    return 0


def configure(node):
    (FOLDER / f"d{node}").mkdir()
    schema = "".join(f"include {ROOT}/schema/{one}.schema\n" for one in ("core", "cosine", "inetorgperson", "telco"))
    (FOLDER / f"{node}.conf").write_text(
        f"{schema}loglevel none\nmetrics-listener 127.0.0.1:{14100 + node}\ndatabase mdb\nsuffix dc=example,dc=com\n"
        f"rootdn {ADMIN[1]}\nrootpw secret\ndirectory {FOLDER}/d{node}\nindex objectClass,imsi,msisdn eq\n"
        f"cluster http://127.0.0.1:{ETCD} room=8192\n"
    )


def start_node(node):
    start(
        f"n{node}", BINARY, "slapd", "-d", "0", "-f", f"{FOLDER}/{node}.conf", "-h", f"ldap://127.0.0.1:{14200 + node}/"
    )


def caught_up(node=None):
    """Waits until a server, or each, has all of the log."""
    while True:
        end = metrics(1, "ironbark_cluster_end")
        if all(metrics(one, "ironbark_cluster_position") == end >= 0 for one in ([node] if node else NODES)):
            return
        time.sleep(0.02)


def load(node, operation, clients, seconds=SECONDS, wait=True):
    out = FOLDER / f"load{node}.json"
    command = [
        BINARY,
        "load",
        "telco",
        operation,
        "-H",
        f"ldap://127.0.0.1:{14200 + node}/",
        *ADMIN,
        "-c",
        str(clients),
        "--entries",
        str(ENTRIES),
        "-s",
        str(seconds),
        "--warm-up",
        "0",
        "-o",
        str(out),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.wait() if wait else process


def row(name, *values):
    print(
        "| "
        + " | ".join([name, *(f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" for value in values)])
        + " |",
        flush=True,
    )


def prepare():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    url, peer = f"http://127.0.0.1:{ETCD}", f"http://127.0.0.1:{ETCD + 1}"
    start(
        "etcd",
        "etcd",
        "--data-dir",
        f"{FOLDER}/etcd",
        "--listen-client-urls",
        url,
        "--advertise-client-urls",
        url,
        "--listen-peer-urls",
        peer,
        "--initial-advertise-peer-urls",
        peer,
        "--initial-cluster",
        f"default={peer}",
        "--quota-backend-bytes",
        str(8 << 30),
    )
    for node in NODES:
        configure(node)
    run("generate", "telco", "--count", ENTRIES, "-o", FOLDER / "telco.ldif")
    row("slapadd, s", run("slapadd", "-q", "-f", FOLDER / "1.conf", "-l", FOLDER / "telco.ldif"))
    row("data.mdb after slapadd, octets an entry", disk_kb(FOLDER / "d1/data.mdb") * 1024 / ENTRIES)
    for node in NODES[1:]:
        shutil.copy(FOLDER / "d1/data.mdb", FOLDER / f"d{node}/data.mdb")
    for node in NODES:
        start_node(node)
        caught_up(node)


def state():
    at = {
        "changes": metrics(1, "ironbark_cluster_end"),
        "etcd": int(status()["dbSizeInUse"]),
        "time": time.monotonic(),
        "batches": metrics(1, "ironbark_cluster_appended_total"),
        "overtaken": sum(metrics(one, "ironbark_cluster_overtaken_total") for one in NODES),
    }
    at["disk"] = written()
    for name in list(running):
        at["cpu " + name] = cpu(name)
    return at


def costs(operation):
    """A line for each number of clients: changes a second, changes a batch, octets in etcd, processor us of the server
    that executes, of one that applies, and of etcd, octets written to the disk by all; each for a change."""
    for clients in (1, 16, 128, 1024):
        before = state()
        load(1, operation, clients)
        caught_up()
        after = state()
        of = {key: after[key] - before[key] for key in before}
        each = of["changes"]
        row(
            f"{operation}, {clients}",
            each / SECONDS,
            each / max(1, of["batches"]),
            of["etcd"] / each,
            of["cpu n1"] / each,
            of["cpu n2"] / each,
            of["cpu etcd"] / each,
            of["disk"] / each,
        )


def writers():
    """Medians of the rounds: changes a second, groups overtaken a second, and the part of the slowest server in %."""
    found = {}
    for _ in range(ROUNDS):
        for case in itertools.product((1, 16, 128), NODES):
            clients, count = case
            before = state()
            for process in [load(node, "modify", clients, wait=False) for node in NODES[:count]]:
                process.wait()
            after = state()
            rates = [
                json.loads((FOLDER / f"load{node}.json").read_text())["points"][0]["rate"] for node in NODES[:count]
            ]
            found.setdefault(case, []).append(
                (
                    (after["changes"] - before["changes"]) / SECONDS,
                    (after["overtaken"] - before["overtaken"]) / SECONDS,
                    100 * min(rates) / sum(rates),
                )
            )
    for (clients, count), rounds in found.items():
        row(f"{clients} clients at each of {count} servers", *(statistics.median(values) for values in zip(*rounds)))


def away():
    """A server is stopped while others write, and comes back."""
    had = metrics(3, "ironbark_cluster_position")
    stop("n3")
    load(1, "modify", 128, 3 * SECONDS)
    caught_up(2)
    missed = metrics(1, "ironbark_cluster_end")
    begin = time.monotonic()
    start_node(3)
    caught_up(3)
    row("catching up: changes a second", (missed - had) / (time.monotonic() - begin))
    for node in NODES:
        row(f"data.mdb of server {node}, KB", disk_kb(FOLDER / f"d{node}/data.mdb"))


def copies():
    copy = FOLDER / "copy"
    seconds = run("backup", "-f", FOLDER / "1.conf", copy)
    kb = disk_kb(copy)
    row("backup: MB, MB/s", kb / 1e3, kb / 1e3 / seconds)
    stop("n3")
    shutil.rmtree(FOLDER / "d3")
    (FOLDER / "d3").mkdir()
    seconds = run("restore", "-f", FOLDER / "3.conf", copy)
    row("restore: MB, MB/s", kb / 1e3, kb / 1e3 / seconds)
    begin = time.monotonic()
    start_node(3)
    caught_up(3)
    row("the restored server is ready after, s", time.monotonic() - begin)


def renewals():
    """How long the reads of a client, one after the other, are refused while a copy is put in place."""
    # All are of the log.
    load(1, "modify", 1)
    for _ in range(ROUNDS):
        caught_up()
        stop("n3")
        load(1, "modify", 1)
        log = "/ironbark/dc=example,dc=com/log"
        etcd("kv/deleterange", key=f"{log}/", range_end=f"{log}0")
        start_node(3)
        while metrics(3, "ironbark_cluster_position") < 0:
            time.sleep(0.01)
        with socket.create_connection(("127.0.0.1", 14203)) as client:
            client.settimeout(60)
            refused, slowest = [], 0
            while not refused or time.monotonic() - refused[-1] < 1:
                begin = time.monotonic()
                client.sendall(READ)
                answer = client.recv(65536)
                while not (done := re.search(rb"\x65.\x0a\x01(.)", answer, re.DOTALL)):
                    answer += client.recv(65536)
                slowest = max(slowest, time.monotonic() - begin)
                if done[1][0] == UNAVAILABLE:
                    refused.append(time.monotonic())
        row("reads are refused for, ms; the slowest read, ms", 1e3 * (refused[-1] - refused[0]), 1e3 * slowest)


def percentiles(name, values):
    values = sorted(values)
    row(name, *(values[int(part * (len(values) - 1))] * 1e3 for part in (0.1, 0.5, 0.9, 0.99, 1)))


def flushes():
    path = FOLDER / "flush"
    with open(path, "wb") as file:
        file.write(bytes(8 << 20))
        os.fsync(file.fileno())
        times = []
        for number in range(1000):
            os.pwrite(file.fileno(), bytes(8192), number % 1000 * 8192)
            begin = time.monotonic()
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - begin)
    percentiles("fdatasync of 8 KB, ms", times)
    for octets in (300, 10_000, 100_000):
        client, times = http.client.HTTPConnection("127.0.0.1", ETCD), []
        value = base64.b64encode(bytes(octets)).decode()
        for number in range(500):
            key = base64.b64encode(f"/x/{octets}/{number}".encode()).decode()
            tail = base64.b64encode(f"/x/{octets}".encode()).decode()
            body = json.dumps(
                {"success": [{"requestPut": {"key": key, "value": value}}, {"requestPut": {"key": tail, "value": key}}]}
            )
            begin = time.monotonic()
            client.request("POST", "/v3/kv/txn", body)
            client.getresponse().read()
            times.append(time.monotonic() - begin)
        percentiles(f"etcd: transaction with a value of {octets} octets, ms", times)


def memory(when):
    row(
        f"memory ({when}), KB: server 1, server 2, etcd",
        *(proc(name, "status", "RssAnon") for name in ("n1", "n2", "etcd")),
    )


def main():
    atexit.register(lambda: [stop(name) for name in list(running)])
    prepare()
    memory("idle")
    parts = {
        "flushes": flushes,
        "modify": lambda: costs("modify"),
        "add": lambda: costs("add"),
        "writers": writers,
        "away": away,
        "renewals": renewals,
        "copies": copies,
    }
    for part in PARTS:
        parts[part]()
        caught_up()
    memory("at the end")
    row("etcd in use, MB; its revision", int(status()["dbSizeInUse"]) / 1e6, int(status()["header"]["revision"]))


if __name__ == "__main__":
    main()
