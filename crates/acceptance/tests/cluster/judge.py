"""A judge of what clients of a cluster have seen (history.py).

    judge.py HISTORY DOWN ADDED URL...      prints what cannot have been, with its time; nothing: all is well

DOWN has the times at which a node could not answer, ADDED names of further entries whose addition was acknowledged.

All values differ, so the values of a register form a chain, which says in what order its changes have happened. Changes
are then before and behind each other by the chains, reads are behind the change that they have seen and before the next
one, and what has ended is before what began later. If that has no cycle, the operations have one order that explains
everything that was seen: the history is strictly serializable, and for one register linearizable. Reads of a node's own
copy may be old. They take part without times of other nodes: so they must have seen a moment of that order as well, each
read of a node a later one, and none before what the node itself has acknowledged in the same database. The time is that
of a sort.
"""
import bisect
import json
import sys

import ldap

from history import PEOPLE, REGISTERS, SETTING, connect, read

# How long a read of a node that lives may take, in seconds. The machine does much else.
LATE = 10
# What a node says while a copy of another node's database is put in place of its own, which takes a moment.
REPLACED = "the database is being replaced by a copy"
BEGIN = "begin"
NEVER = float("inf")


def changes_of(lines, register):
    """The values by which a register was to be replaced: new value -> (old value, line)."""
    found = {}
    for line in lines:
        if line["kind"] in ("cas", "txn") and register in line["registers"]:
            found[line["new"]] = (line["old"][line["registers"].index(register)], line)
    return found


def chain(changes, last):
    """The changes of a register that have happened, and the value before them."""
    happened, value = [], last
    while value in changes and len(happened) <= len(changes):
        value, line = changes[value]
        happened.append(line)
    return value, happened[::-1]


def judge_outcomes(register, changes, happened):
    """What was acknowledged has happened, what was refused has not."""
    there = {line["new"] for line in happened}
    for new, (_, line) in changes.items():
        if line["outcome"] == "ok" and new not in there:
            yield line["end"], f"register {register}: acknowledged, and lost: {line}"
        if line["outcome"] in ("failed", "refused") and new in there:
            yield line["end"], f"register {register}: refused, and made: {line}"


def judge_refusals(register, lines, happened):
    """A change was not refused while the value that it expected was there all the time."""
    place = {BEGIN: -1} | {line["new"]: number for number, line in enumerate(happened)}
    for line in lines:
        if line["kind"] != "cas" or line["outcome"] != "failed" or line["registers"] != [register]:
            continue
        at = place.get(line["old"][0])
        if at is None:
            yield line["end"], f"register {register}: expected what was never there: {line}"
            continue
        writer = happened[at] if at >= 0 else None
        certain = 0.0 if writer is None else writer["end"] if writer["outcome"] == "ok" else NEVER
        next_begin = happened[at + 1]["begin"] if at + 1 < len(happened) else NEVER
        if certain < line["begin"] and next_begin > line["end"]:
            yield line["end"], f"register {register}: refused, but the value was there all the time: {line}"


class Order:
    """What is before what. Operations have numbers; points in time are added."""

    def __init__(self, lines):
        self.lines = lines
        self.behind = [[] for _ in lines]

    def point(self):
        self.behind.append([])
        return len(self.behind) - 1

    def put(self, before, after):
        if before != after:
            self.behind[before].append(after)

    def put_times(self, ended, begun):
        """What has ended is before what began later."""
        ended = sorted((self.lines[number]["end"], number) for number in ended)
        points = []
        for _, number in ended:
            point = self.point()
            self.put(number, point)
            if points:
                self.put(points[-1], point)
            points.append(point)
        times = [end for end, _ in ended]
        for number in begun:
            at = bisect.bisect_left(times, self.lines[number]["begin"])
            if at:
                self.put(points[at - 1], number)

    def rest(self):
        """Operations that are before themselves, or behind such."""
        before = [0] * len(self.behind)
        for after in self.behind:
            for one in after:
                before[one] += 1
        free = [number for number, count in enumerate(before) if count == 0]
        done = 0
        while free:
            done += 1
            for one in self.behind[free.pop()]:
                before[one] -= 1
                if before[one] == 0:
                    free.append(one)
        return [number for number, count in enumerate(before) if count] if done < len(before) else []

    def cycle(self):
        """The operations of a cycle, or nothing."""
        rest = set(self.rest())
        if not rest:
            return []
        # Each has one before it that is in the rest as well: going back ends in a cycle.
        back = {}
        for number in rest:
            for after in self.behind[number]:
                if after in rest:
                    back[after] = number
        seen, number = {}, next(iter(back))
        while number not in seen:
            seen[number] = len(seen)
            number = back[number]
        return [one for one, at in seen.items() if at >= seen[number] and one < len(self.lines)]


def seen_values(line):
    """What a read has seen: register -> value."""
    if line["kind"] == "local":
        return dict(enumerate(line["values"]))
    return {line["registers"][0]: line["value"]}


def judge_order(lines, chains):
    order = Order(lines)
    happened = [number for register in chains.values() for number in register]
    for numbers in chains.values():
        for before, after in zip(numbers, numbers[1:]):
            order.put(before, after)
    place = {
        register: {BEGIN: -1} | {lines[number]["new"]: at for at, number in enumerate(numbers)}
        for register, numbers in chains.items()
    }
    reads = [number for number, line in enumerate(lines) if line["kind"] in ("read", "local") and line["outcome"] == "ok"]
    for number in reads:
        for register, value in seen_values(lines[number]).items():
            at = place[register].get(value)
            if at is None:
                yield lines[number]["end"], f"register {register}: a value that was never there: {lines[number]}"
                continue
            numbers = chains[register]
            if at >= 0:
                order.put(numbers[at], number)
            if at + 1 < len(numbers):
                order.put(number, numbers[at + 1])
    newest = set(happened) | {number for number in reads if lines[number]["kind"] == "read"}
    ended = {number for number in newest if lines[number]["outcome"] == "ok"}
    order.put_times(ended, newest)
    for node in {line["node"] for line in lines}:
        local = {number for number in reads if lines[number]["kind"] == "local" and lines[number]["node"] == node}
        # cn=config is another database, with places of its own.
        own = {number for number in ended if lines[number]["node"] == node and lines[number]["registers"] != [SETTING]}
        order.put_times(own | local, local)
    cycle = order.cycle()
    if cycle:
        operations = sorted((lines[number] for number in cycle), key=lambda line: line["begin"])
        yield operations[-1]["begin"], f"no order explains these: {operations}"


def judge_registers(lines, last):
    """`last` has the values of each register in the end, of all nodes."""
    chains, number_of = {}, {id(line): number for number, line in enumerate(lines)}
    for register, values in enumerate(last):
        if len(values) != 1:
            yield lines[-1]["end"], f"register {register}: the nodes have {values}"
        changes = changes_of(lines, register)
        first, happened = chain(changes, min(values))
        if first != BEGIN:
            yield lines[-1]["end"], f"register {register}: nobody wrote {first}"
        chains[register] = [number_of[id(line)] for line in happened]
        yield from judge_outcomes(register, changes, happened)
        yield from judge_refusals(register, lines, happened)
    there = {register: set(numbers) for register, numbers in chains.items()}
    for number, line in enumerate(lines):
        if line["kind"] == "txn" and len({number in there[register] for register in line["registers"]}) != 1:
            yield line["end"], f"half of a transaction: {line}"
    yield from judge_order(lines, chains)


def judge_additions(lines, further, urls):
    acknowledged = {line["name"] for line in lines if line["kind"] == "add" and line["outcome"] == "ok"} | set(further)
    refused = {line["name"] for line in lines if line["kind"] == "add" and line["outcome"] == "refused"}
    for url in urls:
        found = connect(url, 120).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=*)", ["uid"])
        there = {entry["uid"][0].decode() for _, entry in found}
        for name in acknowledged - there:
            yield lines[-1]["end"], f"acknowledged, and lost: {name}"
        for name in refused & there:
            yield lines[-1]["end"], f"refused, and added: {name}"


def is_of_a_new_copy(line, answered):
    """Whether a node said that it puts a copy of its database in place, and answered soon after."""
    said = REPLACED in line.get("error", "")
    return said and any(line["end"] <= end < line["begin"] + LATE for end in answered)


def judge_answers(lines, down):
    """A node that lives answers reads of its own copy."""
    answered = {}
    for line in lines:
        if line["kind"] == "local" and line["outcome"] == "ok":
            answered.setdefault(line["node"], []).append(line["end"])
    for line in lines:
        is_well = line["outcome"] == "ok" and line["end"] - line["begin"] < LATE
        if line["kind"] != "local" or is_well or is_of_a_new_copy(line, answered.get(line["node"], [])):
            continue
        since = line.get("served", line["begin"])
        if not any(node == line["node"] and begin <= line["end"] and since <= end for node, begin, end in down):
            yield line["end"], f"a read was not answered in {LATE} s: {line}"


def judge(history, down, added, urls):
    with open(history, encoding="ascii") as file:
        lines = [json.loads(line) for line in file]
    with open(down, encoding="ascii") as file:
        down = json.load(file)
    with open(added, encoding="ascii") as file:
        added = json.load(file)
    outcomes = {}
    for line in lines:
        kind = "setting" if line.get("registers") == [SETTING] else line["kind"]
        key = f"{kind} {line['outcome']}"
        outcomes[key] = outcomes.get(key, 0) + 1
    last = [{read(connect(url), register) for url in urls} for register in [*range(REGISTERS), SETTING]]
    for part in (judge_registers(lines, last), judge_additions(lines, added, urls), judge_answers(lines, down)):
        for at, what in part:
            print(f"{at}\t{what}")
    slowest = max((line["end"] - line["begin"] for line in lines if line["kind"] == "local" and line["outcome"] == "ok"), default=0)
    print(json.dumps(outcomes, sort_keys=True), f"slowest local read: {slowest:.2f} s", sep="\n", file=sys.stderr)


if __name__ == "__main__":
    judge(*sys.argv[1:4], sys.argv[4:])
