"""What a persistent search of python-ldap is told of changes: one line for each entry, search by search.

389 puts a change into the queues of its searches behind the answer to the writer, so that it may be sent behind a later
change. So a line does not say in which step it came, and the lines of a search may be in another order.

Arguments: the server's URL, the name to bind with, its password, and kinds of changes with which to ask.
"""

import sys

import ldap
from ldap.controls.psearch import EntryChangeNotificationControl, PersistentSearchControl

URL, WHO, PASSWORD, KINDS = sys.argv[1:5]
BASE = "dc=example,dc=com"
PEOPLE = "ou=people," + BASE
KIND_NAMES = {1: "add", 2: "delete", 4: "modify", 8: "modDN", None: "-"}


def connection():
    client = ldap.initialize(URL)
    client.simple_bind_s(WHO, PASSWORD)
    return client


def watch(base, scope, filter_text, only=True, kinds=None, notifies=True):
    kinds = kinds or KINDS.split(",")
    client = connection()
    control = PersistentSearchControl(changeTypes=kinds, changesOnly=only, returnECs=notifies)
    number = client.search_ext(base, scope, filter_text, ["cn", "sn"], serverctrls=[control])
    return client, number


def news(watcher, until, seconds=60, lines=None):
    """What has come, up to the entry with this sn, without other marks."""
    client, number = watcher
    lines = [] if lines is None else lines
    while True:
        _, found, _, _, _, _ = client.result4(
            number, 0, seconds, add_ctrls=1, resp_ctrl_classes={EntryChangeNotificationControl.controlType: EntryChangeNotificationControl}
        )
        for name, values, controls in found:
            sn = b",".join(values.get("sn", [])).decode()
            if sn == until:
                return lines
            if sn.startswith("mark"):
                continue
            change = next((one for one in controls if one.controlType == EntryChangeNotificationControl.controlType), None)
            kind = KIND_NAMES[change.changeType if change else None]
            before = getattr(change, "previousDN", None)
            was = f" was {before}" if before else ""
            lines.append(f"{kind} {name.lower()}{was.lower()} {sn}")


def person(cn, sn):
    return [("objectClass", [b"person"]), ("cn", [cn.encode()]), ("sn", [sn.encode()])]


def main():
    writer = connection()
    marks = 0

    def mark():
        """A change of each kind that a watcher may wait for."""
        nonlocal marks
        marks += 1
        name, sn = f"cn=mark{marks}," + PEOPLE, f"mark{marks}"
        writer.add_s(name, person(sn, sn))
        writer.modify_s(name, [(ldap.MOD_REPLACE, "description", [b"x"])])
        return sn

    def begin(watcher, lines):
        """Until the server has taken the search in."""
        while True:
            try:
                news(watcher, mark(), 1, lines)
            except ldap.TIMEOUT:
                continue
            return

    # The searches begin when the queue of another one has had this change: 389 would tell them of it as well.
    before = watch(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=person)", kinds=["add"])
    begin(before, [])
    writer.add_s("cn=there," + PEOPLE, person("there", "wanted"))
    news(before, "wanted")
    watchers = {
        "all": watch(BASE, ldap.SCOPE_SUBTREE, "(objectClass=person)"),
        "filter": watch(BASE, ldap.SCOPE_SUBTREE, "(|(sn=wanted)(sn=mark*))"),
        "one level": watch(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=person)"),
        "plain": watch(BASE, ldap.SCOPE_SUBTREE, "(objectClass=person)", notifies=False),
        "first all": watch(PEOPLE, ldap.SCOPE_SUBTREE, "(|(sn=wanted)(sn=mark*))", only=False),
    }
    told = {name: [] for name in watchers}

    def do(step):
        step()
        sn = mark()
        for name, watcher in watchers.items():
            news(watcher, sn, lines=told[name])

    def modify(cn, sn):
        writer.modify_s(cn, [(ldap.MOD_REPLACE, "sn", [sn.encode()])])

    a, b, deep = "cn=a," + PEOPLE, "cn=b," + PEOPLE, "cn=deep,ou=inner," + PEOPLE
    for name, watcher in watchers.items():
        begin(watcher, told[name])
    do(lambda: writer.add_s(a, person("a", "wanted")))
    do(lambda: modify(a, "wanted"))
    do(lambda: modify(a, "other"))
    do(lambda: modify(a, "wanted"))
    do(lambda: writer.rename_s(a, "cn=b"))
    do(lambda: writer.add_s("ou=inner," + PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"inner"])]))
    do(lambda: writer.rename_s(b, "cn=deep", "ou=inner," + PEOPLE))
    do(lambda: modify(deep, "x"))
    do(lambda: writer.rename_s("ou=inner," + PEOPLE, "ou=moved"))
    do(lambda: writer.delete_s("cn=deep,ou=moved," + PEOPLE))
    do(lambda: writer.delete_s("cn=there," + PEOPLE))
    for _ in range(3):
        do(lambda: None)
    for name, lines in told.items():
        for line in lines:
            print(f"{name}: {line}")
    writer.delete_s("ou=moved," + PEOPLE)
    for number in range(1, marks + 1):
        writer.delete_s(f"cn=mark{number}," + PEOPLE)


main()
