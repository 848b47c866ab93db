"""Clients of a cluster that change and read values, and a judge of what they have seen.

    history.py run FILE URL...      until its input ends: writes the history, a line of JSON for each operation
    history.py judge FILE URL...    reads it, and prints what cannot have been; nothing: all is well

Each register is an entry, and its value its description. A change replaces a value that is expected (assertion control,
RFC 4528) by one that nobody else ever writes. Reads have the control don't use copy (RFC 6171). So the values of a
register form a chain, and the times of the operations say whether the history is linearizable: whether each operation
may have happened at one moment between its begin and its end.
"""
import json
import random
import sys
import threading
import time

import ldap
from ldap.controls import LDAPControl
from ldap.controls.libldap import AssertionControl

REGISTERS = 4
CLIENTS_OF_A_NODE = 3
ROOT, PASSWORD = "cn=Manager,dc=example,dc=com", "secret"
NEWEST = LDAPControl("1.3.6.1.1.22", True)
SURE = (ldap.BUSY,)


def name(register):
    return f"uid=r{register},ou=people,dc=example,dc=com"


def connect(url):
    client = ldap.initialize(url)
    client.set_option(ldap.OPT_NETWORK_TIMEOUT, 2)
    client.set_option(ldap.OPT_TIMEOUT, 8)
    client.simple_bind_s(ROOT, PASSWORD)
    return client


def read(client, register):
    found = client.search_ext_s(name(register), ldap.SCOPE_BASE, "(objectClass=*)", ["description"], serverctrls=[NEWEST])
    return found[0][1]["description"][0].decode()


def work(url, number, ends, lock, out):
    client, known, counter = None, {}, 0
    choice = random.Random(number)
    while not ends.is_set():
        register = choice.randrange(REGISTERS)
        kind = "read" if register not in known or choice.random() < 0.4 else "cas"
        line = {"client": number, "kind": kind, "register": register, "begin": time.monotonic()}
        if kind == "cas":
            counter += 1
            line.update(old=known[register], new=f"{number}-{counter}")
        try:
            client = client or connect(url)
            line["begin"] = time.monotonic()
            if kind == "read":
                line["value"] = known[register] = read(client, register)
            else:
                condition = AssertionControl(True, f"(description={line['old']})")
                change = [(ldap.MOD_REPLACE, "description", [line["new"].encode()])]
                client.modify_ext_s(name(register), change, serverctrls=[condition])
                known[register] = line["new"]
            line["outcome"] = "ok"
        except ldap.ASSERTION_FAILED:
            line["outcome"] = "failed"
            known.pop(register, None)
        except SURE:
            line["outcome"] = "refused"
        except ldap.LDAPError as error:
            line["outcome"], line["error"] = "unknown", str(error)
            known.pop(register, None)
            client = None
            time.sleep(0.05)
        line["end"] = time.monotonic()
        with lock:
            out.write(json.dumps(line) + "\n")
            out.flush()


def run(path, urls):
    lock, ends = threading.Lock(), threading.Event()
    with open(path, "w", encoding="ascii") as out:
        clients = [(url, number * 100 + client) for number, url in enumerate(urls) for client in range(CLIENTS_OF_A_NODE)]
        threads = [threading.Thread(target=work, args=(url, number, ends, lock, out)) for url, number in clients]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        ends.set()
        for thread in threads:
            thread.join()


def chain(changes, last):
    """The changes that have happened, from the first value to the last one."""
    by_new = {change["new"]: change for change in changes}
    happened, value = [], last
    while value in by_new:
        happened.append(by_new[value])
        value = by_new[value]["old"]
    return value, happened[::-1]


def judge_register(register, lines, last):
    changes = [line for line in lines if line["kind"] == "cas"]
    first, happened = chain(changes, last)
    if first != "begin":
        yield f"register {register}: nobody wrote {first}"
    place = {change["new"]: number for number, change in enumerate(happened)}
    place["begin"] = -1
    for change in changes:
        is_there = change["new"] in place
        if change["outcome"] == "ok" and not is_there:
            yield f"acknowledged, and lost: {change}"
        if change["outcome"] in ("failed", "refused") and is_there:
            yield f"refused, and made: {change}"
    latest_begin = 0.0
    for change in happened:
        # A change that ended before an earlier one of the chain began. One of unknown outcome may still happen.
        if change["outcome"] == "ok" and change["end"] < latest_begin:
            yield f"out of order: {change}"
        latest_begin = max(latest_begin, change["begin"])
    # When it is certain that a value is no longer there: the first end of a later change.
    gone, earliest = [float("inf")] * (len(happened) + 1), float("inf")
    for number in range(len(happened) - 1, -1, -1):
        if happened[number]["outcome"] == "ok":
            earliest = min(earliest, happened[number]["end"])
        gone[number] = earliest
    for line in lines:
        value = line.get("value") if line["kind"] == "read" else line["old"]
        if line["outcome"] not in ("ok", "failed"):
            continue
        if value not in place:
            yield f"what was never there: {line}"
            continue
        at = place[value]
        begun = 0.0 if at < 0 else happened[at]["begin"]
        if line["outcome"] == "ok":
            if line["end"] < begun:
                yield f"seen before it was written: {line}"
            if gone[at + 1] < line["begin"]:
                yield f"an old value: {line}"
        else:
            certain = 0.0 if at < 0 else happened[at]["end"] if happened[at]["outcome"] == "ok" else float("inf")
            next_begin = happened[at + 1]["begin"] if at + 1 < len(happened) else float("inf")
            if certain < line["begin"] and next_begin > line["end"]:
                yield f"refused, but the value was there all the time: {line}"


def judge(path, urls):
    with open(path, encoding="ascii") as history:
        lines = [json.loads(line) for line in history]
    for register in range(REGISTERS):
        last = {read(connect(url), register) for url in urls}
        if len(last) != 1:
            print(f"register {register}: the nodes have {last}")
            continue
        for what in judge_register(register, [line for line in lines if line["register"] == register], last.pop()):
            print(what)
    outcomes = {}
    for line in lines:
        key = f"{line['kind']} {line['outcome']}"
        outcomes[key] = outcomes.get(key, 0) + 1
    print(json.dumps(outcomes, sort_keys=True), file=sys.stderr)


if __name__ == "__main__":
    {"run": run, "judge": judge}[sys.argv[1]](sys.argv[2], sys.argv[3:])
