"""What python-ldap does with a directory server: one line for each answer."""

import os
import sys

import ldap
import ldap.filter
import ldap.modlist
import ldap.resiter
import ldap.sasl
import ldap.schema
from ldap.controls import LDAPControl, SimplePagedResultsControl
from ldap.controls.deref import DereferenceControl
from ldap.controls.libldap import AssertionControl, MatchedValuesControl
from ldap.controls.ppolicy import PasswordPolicyControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.simple import ProxyAuthzControl
from ldap.extop import ExtendedRequest
from ldap.ldapobject import LDAPObject, ReconnectLDAPObject

URL, TLS_URL, SOCKET, AUTHORITY, IDENTITY = sys.argv[1:6]
BASE = "dc=example,dc=com"
PEOPLE = "ou=people," + BASE
ROOT = "cn=Manager," + BASE
ANN, BOB, EVE = (f"uid={name},{PEOPLE}" for name in ("ann", "bob", "eve"))
MECHANISMS = ["SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512", "DIGEST-MD5", "CRAM-MD5", "PLAIN", "LOGIN"]


def show(what, step):
    try:
        answer = step()
    except ldap.LDAPError as error:
        words = error.args[0]
        # What the library adds to the server's words depends on its version.
        answer = " | ".join([type(error).__name__, words.get("matched", ""), words.get("info", "")])
    print(f"{what}: {answer}")


def connection(url=URL, identity=None):
    client = ldap.initialize(url)
    client.set_option(ldap.OPT_REFERRALS, 0)
    client.set_option(ldap.OPT_X_TLS_CACERTFILE, AUTHORITY)
    client.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
    if identity:
        client.set_option(ldap.OPT_X_TLS_CERTFILE, identity + ".crt")
        client.set_option(ldap.OPT_X_TLS_KEYFILE, identity + ".key")
    client.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    return client


def as_who(name, password, url=URL):
    client = connection(url)
    client.simple_bind_s(name, password)
    return client


def sasl(mechanism, user, password, authorization="", url=URL):
    answers = {ldap.sasl.CB_AUTHNAME: user, ldap.sasl.CB_PASS: password, ldap.sasl.CB_USER: authorization}
    client = connection(url)
    client.sasl_interactive_bind_s("", ldap.sasl.sasl(answers, mechanism))
    return client


def external(url, authorization="", identity=None):
    client = connection(url, identity)
    client.sasl_external_bind_s(authz_id=authorization)
    return client


def starttls(identity=None):
    client = connection(identity=identity)
    client.start_tls_s()
    return client


def entries(found):
    return sorted((name, {key: values for key, values in sorted(entry.items())}) for name, entry in found if name)


def binds():
    show("anonymous", lambda: connection().whoami_s())
    show("bind", lambda: as_who(ANN, "pencil").whoami_s())
    show("wrong password", lambda: as_who(ANN, "pencils"))
    show("no password", lambda: as_who(ANN, ""))
    for mechanism in MECHANISMS:
        show(mechanism, lambda: sasl(mechanism, "ann", "pencil").whoami_s())
        show(mechanism + ", wrong password", lambda: sasl(mechanism, "ann", "pencils"))
        show(mechanism + " over TLS", lambda: sasl(mechanism, "ann", "pencil", url=TLS_URL).whoami_s())
    show("socket", lambda: external(SOCKET).whoami_s() == f"dn:gidNumber={os.getgid()}+uidNumber={os.getuid()},cn=peercred,cn=external,cn=auth")
    show("no certificate", lambda: external(TLS_URL))
    show("certificate", lambda: external(TLS_URL, identity=IDENTITY).whoami_s())

    def after_starttls(bind):
        client = starttls(IDENTITY)
        bind(client)
        return client.whoami_s()

    show("StartTLS and certificate", lambda: after_starttls(lambda client: client.sasl_external_bind_s()))
    show("StartTLS and password", lambda: after_starttls(lambda client: client.simple_bind_s(BOB, "brush")))

    def rebinding():
        client = as_who(ANN, "pencil")
        client.sasl_interactive_bind_s("", ldap.sasl.cram_md5("bob", "brush"))
        names = [client.whoami_s()]
        client.simple_bind_s("", "")
        return names + [client.whoami_s()]

    show("bind again", rebinding)


def others(root):
    """Acting for somebody else: ann may act for bob."""
    root.modify_s(ANN, [(ldap.MOD_ADD, "authzTo", b"dn.exact:" + BOB.encode())])
    for mechanism in ("SCRAM-SHA-256", "DIGEST-MD5", "PLAIN"):
        for other in ("u:bob", "dn:" + BOB, "u:eve", "dn:cn=nobody"):
            show(f"{mechanism} for {other}", lambda: sasl(mechanism, "ann", "pencil", other, TLS_URL).whoami_s())
    show("certificate for bob", lambda: external(TLS_URL, "u:bob", IDENTITY).whoami_s())
    ann = as_who(ANN, "pencil")
    for other in (b"u:bob", b"dn:" + BOB.encode(), b"u:eve", b""):
        control = ProxyAuthzControl(True, other)
        show(f"whoami for {other}", lambda: ann.extop_s(ExtendedRequest("1.3.6.1.4.1.4203.1.11.3", None), [control])[1])
        show(f"search for {other}", lambda: ann.search_ext_s(BOB, ldap.SCOPE_BASE, attrlist=["uid", "userPassword"], serverctrls=[control]))
        change = [(ldap.MOD_REPLACE, "description", b"by ann")]
        show(f"modify for {other}", lambda: ann.modify_ext_s(BOB, change, serverctrls=[control])[0])
    show("password", lambda: as_who(BOB, "brush").search_s(BOB, ldap.SCOPE_BASE, attrlist=["userPassword", "uid"]))


def passwords():
    for mechanism in MECHANISMS[:5]:
        one, other = ("pencil", "eraser") if as_ann("pencil") else ("eraser", "pencil")
        client = sasl(mechanism, "ann", one)
        show(f"{mechanism}: wrong old password", lambda: client.passwd_s(None, "x", "y"))
        show(f"{mechanism}: change", lambda: client.passwd_s(None, one, other)[1])
        show(f"{mechanism}: what is valid", lambda: [as_ann(one), as_ann(other)])
    client = sasl("CRAM-MD5", "eve", "chalk")
    generated = []

    def generate():
        _, new = client.passwd_s(EVE, "chalk", None, extract_newpw=True)
        generated.append(new.genPasswd)
        return len(new.genPasswd) >= 8

    show("generate", generate)
    show("what was generated", lambda: as_who(EVE, generated[0].decode()).whoami_s())
    show("another's password", lambda: client.passwd_s(BOB, None, "x"))
    root = as_who(ROOT, "secret")
    for name, old, new in ((ANN, None, "pencil"), (EVE, None, "chalk"), ("uid=nobody," + PEOPLE, None, "x"), ("", None, "x"), ("x", None, "x")):
        show(f"root changes {name}", lambda: root.passwd_s(name, old, new)[1])
    show("nobody changes", lambda: connection().passwd_s(ANN, "pencil", "x"))


def as_ann(password):
    try:
        as_who(ANN, password)
        return True
    except ldap.INVALID_CREDENTIALS:
        return False


def searches():
    nobody = connection()
    text = ldap.filter.filter_format("(cn=%s)", ["Eve (x*) Poe"])
    show("escaped", lambda: entries(nobody.search_s(PEOPLE, ldap.SCOPE_SUBTREE, text, ["uid", "mail"])))
    show("types only", lambda: entries(nobody.search_s(ANN, ldap.SCOPE_BASE, attrlist=["uid", "cn"], attrsonly=1)))
    show("no such object", lambda: nobody.search_s("uid=x," + PEOPLE, ldap.SCOPE_BASE))
    show("bad name", lambda: nobody.search_s("nonsense", ldap.SCOPE_BASE))
    show("compare", lambda: [nobody.compare_s(ANN, "sn", b"lee"), nobody.compare_s(ANN, "sn", b"ray")])
    show("compare what is not there", lambda: nobody.compare_s(ANN, "title", b"x"))
    show("size limit", lambda: nobody.search_ext_s(PEOPLE, ldap.SCOPE_SUBTREE, sizelimit=1))
    show("root DSE", lambda: sorted(nobody.read_rootdse_s(attrlist=["namingContexts", "supportedLDAPVersion"]).items()))

    def pages():
        control, sizes = SimplePagedResultsControl(True, 10, ""), []
        while True:
            message = nobody.search_ext("ou=many," + BASE, ldap.SCOPE_ONELEVEL, "(sn=Many)", ["cn"], serverctrls=[control])
            _, found, _, controls = nobody.result3(message)
            sizes.append(len(found))
            control.cookie = next(one.cookie for one in controls if one.controlType == control.controlType)
            if not control.cookie:
                return sizes

    show("pages", pages)
    values = MatchedValuesControl(True, "(mail=ann.l*)")
    show("matched values", lambda: nobody.search_ext_s(ANN, ldap.SCOPE_BASE, attrlist=["mail"], serverctrls=[values]))
    deref = DereferenceControl(True, {"member": ["mail", "uid"]})

    def dereferenced():
        message = nobody.search_ext("ou=lists," + BASE, ldap.SCOPE_ONELEVEL, "(cn=writers)", ["cn"], serverctrls=[deref])
        _, found, _, _, _, _ = nobody.result4(message, add_ctrls=1)
        derefs = [one.derefRes for _, _, controls in found for one in controls]
        return [sorted((kind, [(name, sorted(values.items())) for name, values in rows]) for kind, rows in result.items()) for result in derefs]

    show("dereference", dereferenced)
    show("unknown critical control", lambda: nobody.search_ext_s(ANN, ldap.SCOPE_BASE, serverctrls=[LDAPControl("1.2.3.4", True)]))

    class Iterating(LDAPObject, ldap.resiter.ResultProcessor):
        pass

    def iterate():
        client = Iterating(URL)
        message = client.search("ou=many," + BASE, ldap.SCOPE_ONELEVEL)
        return sum(len(found) for _, found, _, _ in client.allresults(message))

    show("iterate", iterate)

    def abandon():
        message = nobody.search("ou=many," + BASE, ldap.SCOPE_SUBTREE)
        nobody.abandon(message)
        return nobody.whoami_s()

    show("abandon", abandon)

    def schema():
        name, found = ldap.schema.urlfetch(URL)
        person = found.get_obj(ldap.schema.ObjectClass, "inetOrgPerson")
        mail = found.get_inheritedobj(ldap.schema.AttributeType, "mail")
        must, may = found.attribute_types(["inetOrgPerson"])
        return name, person.sup, mail.equality, len(must), len(may)

    show("schema", schema)


def writes(root):
    name = "cn=carl," + PEOPLE
    carl = {"objectClass": [b"person"], "cn": [b"carl"], "sn": [b"Carl"]}
    show("add", lambda: root.add_s(name, ldap.modlist.addModlist(carl))[0])
    show("add again", lambda: root.add_s(name, ldap.modlist.addModlist(carl)))
    show("add without class", lambda: root.add_s("cn=x," + PEOPLE, [("cn", b"x")]))
    changed = dict(carl, sn=[b"Carlson"], description=[b"one", b"two", bytes(range(1, 127))])
    show("modify", lambda: root.modify_s(name, ldap.modlist.modifyModlist(carl, changed))[0])
    show("after it", lambda: entries(root.search_s(name, ldap.SCOPE_BASE)))
    show("undefined", lambda: root.modify_s(name, [(ldap.MOD_ADD, "colour", b"red")]))
    before, after = PreReadControl(True, ["sn"]), PostReadControl(True, ["sn", "modifiersName"])
    show("reads", lambda: [sorted(one.entry.items()) for one in root.modify_ext_s(name, [(ldap.MOD_REPLACE, "sn", b"C")], serverctrls=[before, after])[3]])
    for text in ("(sn=C)", "(sn=D)"):
        change = [(ldap.MOD_REPLACE, "title" if text == "(sn=D)" else "seeAlso", b"cn=x")]
        show(f"assert {text}", lambda: root.modify_ext_s(name, change, serverctrls=[AssertionControl(True, text)])[0])
    show("rename", lambda: root.rename_s(name, "cn=charles", "ou=many," + BASE, 1)[0])
    show("after the rename", lambda: entries(root.search_s("ou=many," + BASE, ldap.SCOPE_ONELEVEL, "(cn=c*)", ["cn"])))
    show("increment", lambda: root.modify_s(ANN, [(ldap.MOD_INCREMENT, "uidNumber", b"5")])[0])
    show("after the increment", lambda: root.search_s(ANN, ldap.SCOPE_BASE, attrlist=["uidNumber"]))
    show("delete", lambda: root.delete_s("cn=charles,ou=many," + BASE)[0])
    show("delete again", lambda: root.delete_s("cn=charles,ou=many," + BASE))
    show("delete what has children", lambda: root.delete_s(PEOPLE))
    show("write as nobody", lambda: connection().delete_s(ANN))
    show("password policy control", lambda: connection().simple_bind_s(ANN, "pencil", [PasswordPolicyControl()])[3])

    def reconnect():
        client = ReconnectLDAPObject(URL, retry_max=2, retry_delay=0.01)
        client.simple_bind_s(ANN, "pencil")
        os.close(client.fileno())
        return client.whoami_s()

    show("reconnect", reconnect)


binds()
searches()
manager = as_who(ROOT, "secret")
writes(manager)
others(manager)
passwords()
