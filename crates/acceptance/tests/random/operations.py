"""Makes the same random operations on two servers, and compares result codes, entries and what is left at the end.

Arguments: URL of slapd, URL of the server under test, seed, number of operations. Prints each difference; ends with 1
if there was one.
"""

import random
import sys

import ldap
import ldap.dn
import ldap.filter

BASE = "dc=x"
PEOPLE = "ou=p,dc=x"
ACCOUNTS = {
    "root": ("cn=root,dc=x", "secret"),
    "writer": ("cn=w,dc=x", "secret"),
    "anonymous": ("", ""),
}
# What differs between any two servers.
OWN = {"entryUUID", "entryCSN", "createTimestamp", "modifyTimestamp"}

SHORT = ["a", "b", "c", "A", "d e", "1", "é", "x,y"]
WORDS = SHORT + [
    " a", "c  d", "c d", "01", "-5", "", "TRUE", "20200101000000Z", "cn=a,ou=p,dc=x", "cn=", "+", "#x", "x" * 300,
    "a\\20", "*", "\x00",
]
NAMES = [
    "cn=a,ou=p,dc=x", "CN=A, OU=P,DC=x", "x", "dc=x", "cn=b,ou=p,dc=x", "", "cn=a+sn=b,dc=x", "sn=b+cn=a,dc=x",
    "nosuch=1,dc=x",
]
VALUES = {
    "tDn": NAMES,
    "member": NAMES,
    "seeAlso": NAMES,
    "aliasedObjectName": NAMES,
    "tInt": ["1", "2", "-1", "01", "x", "", "99999999999999999999", "0", "-0", "+1", " 1"],
    "uidNumber": ["1", "2", "-1", "01", "x", ""],
    "tTime": [
        "20200101000000Z", "20200101000000.0Z", "202001010000Z", "20200101000000+0100", "x", "2020010100Z",
        "20201301000000Z", "20200101000060Z", "20200229000000Z", "20210229000000Z",
    ],
    "tBool": ["TRUE", "FALSE", "true", "1", "x", ""],
    "userPassword": ["a", "b", "{SSHA}x", "{x}y"],
    "telephoneNumber": ["+1 234", "1234", "12-34", "x", "", "1 2"],
    "c": ["DE", "d", "DEU", "de"],
    "ref": ["ldap://h/dc=x", "x", "ldap://h/ou=p,dc=x??sub"],
    "objectClass": [
        "top", "person", "organizationalPerson", "inetOrgPerson", "tAux", "tMust", "posixAccount", "posixGroup",
        "groupOfNames", "organizationalUnit", "extensibleObject", "alias", "referral", "account", "uidObject",
        "nosuch", "domain", "dcObject", "simpleSecurityObject", "subentry", "2.5.6.6", "country", "device",
        "subschema",
    ],
}
USUAL = [
    "cn", "sn", "uid", "mail", "description", "tOne", "tNoEq", "tInt", "tTime", "tBool", "tDn", "tSub",
    "userPassword", "objectClass", "member", "telephoneNumber",
]
ATTRIBUTES = USUAL + [
    "jpegPhoto", "userCertificate;binary", "userCertificate", "ou", "seeAlso", "cn;lang-de", "entryUUID",
    "createTimestamp", "structuralObjectClass", "nosuch", "description;x-foo", "entryCSN", "modifiersName",
    "uidNumber", "memberUid", "homeDirectory", "creatorsName", "c", "dc", "o", "l", "postalAddress", "labeledURI",
    "aliasedObjectName", "ref", "supportedControl", "1.3.6.1.4.1.32473.3", "2.5.4.3",
]
NAMING = [
    "cn", "cn", "cn", "uid", "ou", "tOne", "tInt", "tSub", "mail", "sn", "nosuch", "tNoEq", "userPassword", "tDn",
]
ODD_RDNS = [
    "cn=", "=a", "cn", "cn=a=b", "cn=a+", "2.5.4.3=a", "oid.2.5.4.3=b", "cn=\\zz", "cn=#0401", "cn=a+cn=b",
    "cn;lang-de=a", "1.2.3=x",
]
ODD_NAMES = ["ou=none,dc=x", "dc=y", "", "cn=none,ou=none,dc=x", "cn=subschema"]
IN_FILTERS = [
    "cn", "sn", "uid", "mail", "tInt", "tTime", "tBool", "tDn", "tSub", "tOne", "tNoEq", "objectClass",
    "description", "member", "nosuch", "entryUUID", "entryDN", "hasSubordinates", "createTimestamp", "name",
    "cn;lang-de", "telephoneNumber",
]
RULES = [
    "", ":caseExactMatch", ":integerMatch", ":distinguishedNameMatch", ":2.5.13.2", ":nosuch",
    ":1.2.840.113556.1.4.803",
]
SELECTIONS = [None, ["*", "+"], ["1.1"], ["cn", "objectClass"], ["@person"], ["+"]]


class Chance:
    """Random parts of requests."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        # Names that were given.
        self.names = [BASE, PEOPLE, "ou=g,dc=x"]

    def one(self, choices):
        return self.random.choice(choices)

    def happens(self, share):
        return self.random.random() < share

    def rdn(self):
        if self.happens(0.05):
            return self.one(ODD_RDNS)
        rdn = f"{self.one(NAMING)}={ldap.dn.escape_dn_chars(self.one(SHORT))}"
        if self.happens(0.15):
            rdn += f"+{self.one(['sn', 'uid', 'ou', 'cn'])}={ldap.dn.escape_dn_chars(self.one(SHORT))}"
        return rdn

    def superior(self):
        if self.happens(0.05):
            return self.one(ODD_NAMES)
        return PEOPLE if self.happens(0.6) else self.one(self.names)

    def name(self):
        if self.happens(0.75):
            return self.one(self.names[-60:])
        return f"{self.rdn()},{self.superior()}"

    def value(self, attribute):
        return self.one(VALUES.get(attribute, WORDS))

    def entry(self):
        entry = dict(self.one([
            {"objectClass": ["inetOrgPerson"], "cn": ["a"], "sn": ["b"]},
            {"objectClass": ["inetOrgPerson"], "cn": ["a"], "sn": ["b"]},
            {"objectClass": ["groupOfNames"], "cn": ["a"], "member": ["cn=a,ou=p,dc=x"]},
            {"objectClass": ["organizationalUnit"], "ou": ["a"]},
            {
                "objectClass": ["person", "posixAccount"], "cn": ["a"], "sn": ["b"], "uid": ["u"],
                "uidNumber": ["1"], "gidNumber": ["1"], "homeDirectory": ["/"],
            },
            {"objectClass": ["alias", "extensibleObject"], "aliasedObjectName": [self.one(self.names)]},
            {"objectClass": [self.value("objectClass") for _ in range(self.random.randint(1, 3))]},
        ]))
        if self.happens(0.5):
            entry["objectClass"] = entry["objectClass"] + ["tAux"]
        for _ in range(self.one([0, 0, 1, 1, 2, 3])):
            attribute = self.one(ATTRIBUTES)
            entry[attribute] = entry.get(attribute, []) + [self.value(attribute) for _ in range(self.one([1, 1, 2]))]
        return [(name, [value.encode() for value in values]) for name, values in entry.items()]

    def changes(self):
        changes = []
        for _ in range(self.one([1, 1, 1, 2, 2, 3])):
            if self.happens(0.1):
                changes.append((ldap.MOD_INCREMENT, "tInt", [self.one(["1", "-1", "0", "x", ""]).encode()]))
                continue
            attribute = self.one(USUAL if self.happens(0.7) else ATTRIBUTES)
            kind = self.one([ldap.MOD_ADD, ldap.MOD_DELETE, ldap.MOD_REPLACE])
            count = self.one([1, 1, 1, 2, 2] if kind == ldap.MOD_ADD else [0, 1, 1, 1, 2, 3])
            changes.append((kind, attribute, [self.value(attribute).encode() for _ in range(count)] or None))
        return changes

    def filter(self, depth=0):
        if depth < 3 and self.happens(0.25):
            return f"({self.one('&|')}{''.join(self.filter(depth + 1) for _ in range(self.random.randint(0, 3)))})"
        if depth < 3 and self.happens(0.1):
            return f"(!{self.filter(depth + 1)})"
        attribute = self.one(IN_FILTERS)
        value = self.value(attribute) if self.happens(0.6) else self.one(WORDS)
        escaped = ldap.filter.escape_filter_chars(value)
        kind = self.random.random()
        if kind < 0.45:
            return f"({attribute}={escaped})"
        if kind < 0.6:
            return f"({attribute}=*)"
        if kind < 0.7:
            return f"({attribute}{self.one(['>=', '<='])}{escaped})"
        if kind < 0.75:
            # slapd finds a word without letters in every value that has one too.
            return f"({attribute}~={self.one(['a', 'b', 'd e'])})"
        if kind < 0.9:
            first, second = (ldap.filter.escape_filter_chars(part) for part in (value[:2], value[2:4]))
            return f"({attribute}={first}*{second}*)"
        named = self.one([attribute, f"{attribute}:dn"])
        return f"({named}{self.one(RULES)}:={escaped})"

    def request(self):
        kind = self.random.random()
        if kind < 0.3:
            return ("add", f"{self.rdn()},{self.superior()}", self.entry())
        if kind < 0.55:
            return ("modify", self.name(), self.changes())
        if kind < 0.62:
            return ("delete", self.name())
        if kind < 0.72:
            superior = self.one([None, None, self.superior(), self.name()])
            return ("rename", self.name(), self.rdn(), superior, self.one([0, 1]))
        if kind < 0.8:
            attribute = self.one(ATTRIBUTES)
            return ("compare", self.name(), attribute, self.value(attribute))
        if kind < 0.97:
            base = self.name() if self.happens(0.5) else BASE
            return ("search", base, self.one([0, 1, 2, 2]), self.filter(), self.one(SELECTIONS))
        return ("password", self.name(), self.one(["a", "", "b"]))


def entries(found):
    """Entries in an order and without what is a server's own."""

    def attribute(name, values):
        # Hashes have their own salts.
        return (name, sorted(values) if name != "userPassword" else len(values))

    def content(dn, entry):
        # A reference has no name, and URLs.
        if not dn:
            return sorted(map(str, entry))
        return sorted(attribute(name, values) for name, values in entry.items() if name not in OWN)

    return sorted(((dn, content(dn, entry)) for dn, entry in found), key=repr)


def answer(connection, request):
    """Result code, and the entries of a search."""
    kind, *rest = request
    try:
        if kind == "add":
            connection.add_s(*rest)
        elif kind == "modify":
            connection.modify_s(*rest)
        elif kind == "delete":
            connection.delete_s(*rest)
        elif kind == "rename":
            connection.rename_s(*rest)
        elif kind == "compare":
            return 6 if connection.compare_s(rest[0], rest[1], rest[2].encode()) else 5
        elif kind == "search":
            return (0, entries(connection.search_ext_s(*rest)))
        else:
            connection.passwd_s(rest[0], None, rest[1])
        return 0
    except ldap.LDAPError as error:
        return error.args[0].get("result", str(error)) if isinstance(error.args[0], dict) else str(error)


def connect(url, account):
    connection = ldap.initialize(url)
    connection.simple_bind_s(*account)
    return connection


def main():
    urls, seed, count = sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
    chance = Chance(seed)
    connections = {who: [connect(url, account) for url in urls] for who, account in ACCOUNTS.items()}
    differences = 0
    for number in range(count):
        who = chance.random.choices(list(ACCOUNTS), [8, 2, 1])[0]
        request = chance.request()
        theirs, ours = (answer(connection, request) for connection in connections[who])
        # An index of slapd's that is not in order: from here on its content is another one.
        if request[0] == "rename" and theirs == 80:
            print(f"{number}: slapd cannot rename any more", file=sys.stderr)
            break
        if request[0] == "add" and theirs == 0:
            chance.names.append(request[1])
        if request[0] == "rename" and theirs == 0:
            chance.names.append(f"{request[2]},{request[3] or request[1].split(',', 1)[-1]}")
        if theirs != ours:
            differences += 1
            print(f"{number} {who} {request}\n  slapd {str(theirs)[:1000]}\n  here  {str(ours)[:1000]}")
    left = [entries(connection.search_s(BASE, ldap.SCOPE_SUBTREE)) for connection in connections["root"]]
    if left[0] != left[1]:
        differences += 1
        only = [[one for one in left[a] if one not in left[b]][:2] for a, b in ((0, 1), (1, 0))]
        print("the entries at the end differ:", *only, sep="\n  ")
    print(f"{differences} differences in {number + 1} operations; {len(left[0])} entries at the end", file=sys.stderr)
    sys.exit(differences > 0)


main()
