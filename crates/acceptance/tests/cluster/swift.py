"""Clients that go from one server of a cluster to another at once: swift.py WRITER OTHER

Each change at the other server follows the acknowledgement of the one before it at the writer, and needs it. Prints the operations that were refused as if the one before had not been made; nothing: all is well.
"""
import sys

import ldap
from ldap.controls import LDAPControl
from ldap.extop import ExtendedRequest

BASE, ROOT = "ou=people,dc=example,dc=com", "cn=Manager,dc=example,dc=com"
BEGIN, UPDATE, END = "1.3.6.1.1.21.1", "1.3.6.1.1.21.2", "1.3.6.1.1.21.3"


def connect(url):
    client = ldap.initialize(url)
    client.simple_bind_s(ROOT, "secret")
    return client


def add(client, uid, controls=None):
    person = [("objectClass", [b"inetOrgPerson"]), ("uid", [uid.encode()]), ("cn", [b"x"]), ("sn", [b"x"])]
    return client.add_ext_s(f"uid={uid},{BASE}", person, serverctrls=controls)


def in_transaction(client, work):
    """Makes changes all or none (RFC 5805)."""
    _, name = client.extop_result(client.extop(ExtendedRequest(BEGIN, None)))
    name = name or b""
    work([LDAPControl(UPDATE, True, None, name)])
    end = bytes([4, len(name)]) + name
    client.extop_result(client.extop(ExtendedRequest(END, bytes([0x30, len(end)]) + end)))


def main():
    writer, other = connect(sys.argv[1]), connect(sys.argv[2])
    for number in range(5):
        plain, whole = f"plain{number}", f"whole{number}"
        try:
            add(writer, plain)
            other.delete_s(f"uid={plain},{BASE}")
        except ldap.LDAPError as error:
            print("delete:", number, error)

        def work(controls):
            # The second change is refused, after the first has had an effect, where the entry is not known yet.
            add(other, f"beside{number}", controls)
            add(writer, whole)
            other.delete_ext_s(f"uid={whole},{BASE}", serverctrls=controls)

        try:
            in_transaction(other, work)
        except ldap.LDAPError as error:
            print("transaction:", number, error)


if __name__ == "__main__":
    main()
