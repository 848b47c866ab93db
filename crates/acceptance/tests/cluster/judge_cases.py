"""Small histories: the judge (judge.py) finds nothing in what may have been, and something in what cannot have been."""
from judge import LATE, judge_answers, judge_registers


def line(kind, begin, end, outcome="ok", node=0, **further):
    return {"kind": kind, "node": node, "begin": begin, "end": end, "outcome": outcome} | further


def cas(register, old, new, begin, end, outcome="ok", node=0):
    return line("cas", begin, end, outcome, node, registers=[register], old=[old], new=new)


def txn(old, new, begin, end, outcome="ok"):
    return line("txn", begin, end, outcome, registers=[0, 1], old=old, new=new)


def read(register, value, begin, end):
    return line("read", begin, end, registers=[register], value=value)


def local(values, begin, end, node=0):
    return line("local", begin, end, node=node, values=values)


def found(last, *lines):
    return [what for _, what in judge_registers(list(lines), last)]


def check(expected, last, *lines):
    what = found(last, *lines)
    if expected is None:
        assert what == [], what
    else:
        assert any(expected in one for one in what), (expected, what)


A, B = cas(0, "begin", "a", 1, 2), cas(0, "a", "b", 3, 4)
IN_A, IN_B = [{"a"}, {"begin"}], [{"b"}, {"begin"}]
check(None, IN_B, A, B, read(0, "begin", 0, 1.5), read(0, "a", 1.5, 3.5), read(0, "b", 5, 6))
check(None, IN_B, A, B | {"outcome": "unknown"}, read(0, "a", 3.2, 9))
check(None, IN_A, A, B | {"outcome": "unknown"})
check(None, IN_A, A, cas(0, "begin", "c", 5, 6, "failed"))
check("nodes have", [{"a", "b"}, {"begin"}], A, B)
check("acknowledged, and lost", IN_A, A, B)
check("refused, and made", IN_B, A, B | {"outcome": "refused"})
check("refused, but the value was there", IN_A, A, B | {"outcome": "failed"})
check("nobody wrote", [{"z"}, {"begin"}], A)
check("never there", IN_A, A, read(0, "z", 1, 2))
check("no order", IN_B, A, B, read(0, "a", 5, 6))
check("no order", IN_B, A, B, read(0, "b", 1, 2))
check("no order", IN_B, A | {"begin": 5, "end": 6}, B)
# Copies may be old, but see one moment after the other.
check(None, IN_B, A, B, local(["begin", "begin"], 8, 9, 1), local(["b", "begin"], 9, 10, 1), local(["a", "begin"], 9, 10, 2))
check("no order", IN_B, A, B, local(["b", "begin"], 8, 9, 1), local(["a", "begin"], 10, 11, 1))
check("no order", IN_B, A, B, local(["a", "begin"], 8, 9, 0))
check("never there", IN_A, A, B | {"outcome": "unknown"}, local(["b", "begin"], 8, 9, 1))
C = cas(1, "begin", "c", 5, 6)
check(None, [{"b"}, {"c"}], A, B, C, local(["b", "begin"], 8, 9, 1))
check("no order", [{"b"}, {"c"}], A, B, C, local(["a", "c"], 8, 9, 1))
# A copy may be older than a setting that its node has told: that is in another database.
D = cas(4, "begin", "d", 5, 6)
SETTINGS = [{"b"}, {"begin"}, {"begin"}, {"begin"}, {"d"}]
check(None, SETTINGS, A, B, D, read(4, "d", 7, 8) | {"node": 1}, local(["begin", "begin"], 9, 10, 1))
check("no order", SETTINGS, A, B, D, read(4, "begin", 7, 8))
# Transactions are whole.
T, U = txn(["begin", "begin"], "t", 1, 9), txn(["t", "t"], "u", 1, 9)
check(None, [{"u"}, {"u"}], T, U, local(["t", "t"], 2, 3, 1))
check("half of a transaction", [{"t"}, {"begin"}], T | {"outcome": "unknown"})
check("no order", [{"t"}, {"t"}], T, local(["t", "begin"], 2, 3, 1))
check("no order", [{"u"}, {"t"}], T | {"old": ["begin", "u"]}, U | {"old": ["t", "begin"]})
# Nodes that live answer.
SLOW = local(["begin", "begin"], 10, 11 + LATE)
assert list(judge_answers([SLOW], [])) and not list(judge_answers([SLOW], [(0, 9, 10.5)]))
assert list(judge_answers([SLOW], [(1, 9, 10.5), (0, 1, 9)])) and not list(judge_answers([local([], 10, 11)], []))
assert list(judge_answers([line("local", 10, 10.1, "unknown")], []))
# A connection of before a node went down is found dead later.
DEAD = line("local", 10, 10.1, "unknown", served=9)
assert list(judge_answers([DEAD], [(0, 8, 8.9)])) and not list(judge_answers([DEAD], [(0, 9.3, 9.6)]))
# For a moment a node puts a copy in place of its database.
REFUSAL = "52: the database is being replaced by a copy of another server's; try again"
NEW = line("local", 10, 10.1, "unknown", error=REFUSAL)
assert list(judge_answers([NEW], [])) and list(judge_answers([NEW, local([], 10, 10.2, 1)], []))
assert not list(judge_answers([NEW, local([], 10.2, 10.3)], []))
assert list(judge_answers([local([], 9, 9.1), NEW, local([], 11 + LATE, 12 + LATE)], []))
