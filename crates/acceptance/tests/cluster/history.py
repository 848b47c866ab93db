"""Clients of a cluster that change and read values, and write down what they see.

    history.py FILE URL...      until its input ends: a line of JSON for each operation. judge.py reads it

Each register is an entry, and its value its description; one more is a setting of cn=config, which is that of the
cluster. A change replaces a value that is expected (assertion control,
RFC 4528) by one that nobody else ever writes; a transaction (RFC 5805) does so with two registers. Reads have the
control don't use copy (RFC 6171). Others have not: they see all registers of a node at one moment, maybe an old one, and
must always be answered.
"""
import json
import random
import sys
import threading
import time

import ldap
from ldap.controls import LDAPControl, RequestControl
from ldap.controls.libldap import AssertionControl
from ldap.extop import ExtendedRequest

# The registers that are entries, and the one that is a setting. A transaction has but one database.
REGISTERS = 4
SETTING = REGISTERS
CLIENTS_OF_A_NODE = 3
PEOPLE = "ou=people,dc=example,dc=com"
ROOT, PASSWORD = "cn=Manager,dc=example,dc=com", "secret"
NEWEST = LDAPControl("1.3.6.1.1.22", True)
PART = RequestControl("1.3.6.1.1.21.2", True, b"")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# How long a client waits for an answer, and one of the reads that must not wait, in seconds.
PATIENCE, LOCAL_PATIENCE = 8, 30
# Reads of a node's own copy in a second, at most.
LOCAL_READS = 10


class Extended(ExtendedRequest):
    def __init__(self, oid, value):
        super().__init__(oid, value)

    def encodedRequestValue(self):
        return self.requestValue


def place(register):
    """The entry and the attribute of a register."""
    return ("cn=config", "olcSaslRealm") if register == SETTING else (f"uid=r{register},{PEOPLE}", "description")


def connect(url, patience=PATIENCE):
    client = ldap.initialize(url)
    client.set_option(ldap.OPT_NETWORK_TIMEOUT, 2)
    client.set_option(ldap.OPT_TIMEOUT, patience)
    client.simple_bind_s(ROOT, PASSWORD)
    return client


def read(client, register):
    name, attribute = place(register)
    found = client.search_ext_s(name, ldap.SCOPE_BASE, "(objectClass=*)", [attribute], serverctrls=[NEWEST])
    return found[0][1][attribute][0].decode()


def swap(client, register, old, new, controls=()):
    name, attribute = place(register)
    condition = AssertionControl(True, f"({attribute}={old})")
    client.modify_ext_s(name, [(ldap.MOD_REPLACE, attribute, [new.encode()])], serverctrls=[condition, *controls])


class Client:
    """One that changes and reads at one node."""

    def __init__(self, url, node, number):
        self.url, self.node, self.number = url, node, number
        self.client, self.known, self.counter = None, {}, 0
        self.choice = random.Random(number)

    def plan(self):
        """The next operation, as a line without times and outcome."""
        register, other = self.choice.sample(range(REGISTERS), 2)
        line = {"client": self.number, "node": self.node}
        dice = self.choice.random()
        if dice < 0.02:
            self.counter += 1
            return line | {"kind": "add", "name": f"a{self.number}-{self.counter}"}
        if dice < 0.04:
            register, other = SETTING, None
            dice = self.choice.random()
        if register not in self.known or dice < 0.4:
            return line | {"kind": "read", "registers": [register]}
        registers = [register, other] if dice < 0.55 and other in self.known else [register]
        self.counter += 1
        return line | {
            "kind": "cas" if len(registers) == 1 else "txn",
            "registers": registers,
            "old": [self.known[one] for one in registers],
            "new": f"{self.number}-{self.counter}",
        }

    def execute(self, line):
        if line["kind"] == "add":
            filler = "".join(self.choice.choices(LETTERS, k=2000))
            entry = {"objectClass": "inetOrgPerson", "uid": line["name"], "cn": "a", "sn": "a", "description": filler}
            values = [(kind, [value.encode()]) for kind, value in entry.items()]
            self.client.add_s(f"uid={line['name']},{PEOPLE}", values)
        elif line["kind"] == "read":
            register, = line["registers"]
            line["value"] = self.known[register] = read(self.client, register)
        else:
            changes = list(zip(line["registers"], line["old"]))
            if line["kind"] == "cas":
                (register, old), = changes
                swap(self.client, register, old, line["new"])
            else:
                self.client.extop_s(Extended("1.3.6.1.1.21.1", None))
                for register, old in changes:
                    swap(self.client, register, old, line["new"], [PART])
                self.client.extop_s(Extended("1.3.6.1.1.21.3", b"\x30\x02\x04\x00"))
            for register, _ in changes:
                self.known[register] = line["new"]

    def step(self):
        line = self.plan()
        line["begin"] = time.monotonic()
        try:
            self.client = self.client or connect(self.url)
            line["begin"] = time.monotonic()
            self.execute(line)
            line["outcome"] = "ok"
        except ldap.ASSERTION_FAILED:
            line["outcome"] = "failed"
        except ldap.BUSY:
            line["outcome"] = "refused"
        except ldap.LDAPError as error:
            line["outcome"], line["error"] = "unknown", repr(error)
            self.client = None
            # Not a flood of attempts at a node that is down.
            time.sleep(0.05)
        if line["kind"] == "txn" and line["outcome"] != "ok":
            # The connection may still be in the transaction.
            self.client = None
        if line["outcome"] not in ("ok", "refused"):
            for register in line.get("registers", ()):
                self.known.pop(register, None)
        line["end"] = time.monotonic()
        return line


class Watcher:
    """One that reads a node's own copy, whatever it has."""

    def __init__(self, url, node, ends):
        self.url, self.node, self.client, self.ends = url, node, None, ends
        # When its connection last served it.
        self.served = 0

    def step(self):
        self.ends.wait(1 / LOCAL_READS)
        line = {"kind": "local", "node": self.node, "begin": time.monotonic()}
        try:
            if not self.client:
                self.client = connect(self.url, LOCAL_PATIENCE)
                self.served = line["begin"]
            line["begin"] = time.monotonic()
            found = self.client.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(|(uid=r0)(uid=r1)(uid=r2)(uid=r3))", ["description"])
            values = sorted((dn, entry["description"][0].decode()) for dn, entry in found)
            line.update(values=[value for _, value in values], outcome="ok")
            self.served = line["begin"]
        except ldap.LDAPError as error:
            line.update(outcome="unknown", error=str(error))
            if self.client:
                # The node may have been down since then, for less than the time between two reads.
                line["served"] = self.served
            self.client = None
        line["end"] = time.monotonic()
        return line


def run(path, urls):
    lock, ends = threading.Lock(), threading.Event()
    nodes = list(enumerate(urls))
    clients = [Client(url, node, node * 100 + number) for node, url in nodes for number in range(CLIENTS_OF_A_NODE)]
    watchers = [Watcher(url, node, ends) for node, url in nodes]

    def work(worker, out):
        while not ends.is_set():
            line = json.dumps(worker.step())
            with lock:
                out.write(line + "\n")
                out.flush()

    with open(path, "w", encoding="ascii") as out:
        threads = [threading.Thread(target=work, args=(worker, out)) for worker in clients + watchers]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        ends.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
