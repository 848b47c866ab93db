"""Serves a directory as python-ldap's own test package does, and prints what it answers."""
import ldap
import slapdtest


class Server(slapdtest.SlapdObject):
    openldap_schema_files = ("core.ldif", "cosine.ldif", "inetorgperson.ldif")


ENTRIES = """dn: {suffix}
objectClass: dcObject
objectClass: organization
dc: {dc}
o: {dc}

dn: {root}
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: {cn}
userPassword: {password}

dn: cn=Foo1,{suffix}
objectClass: inetOrgPerson
cn: Foo1
sn: One
"""


def show(server):
    connection = ldap.initialize(server.ldap_uri)
    connection.simple_bind_s(server.root_dn, server.root_pw)
    print(connection.whoami_s())
    for name, values in sorted(connection.search_s(server.suffix, ldap.SCOPE_SUBTREE, "(|(sn=one)(dc=*))", ["dc", "sn"])):
        print(name, sorted(values.items()))
    connection.unbind_s()
    external = ldap.initialize(server.ldapi_uri)
    external.sasl_external_bind_s()
    print(external.whoami_s())
    external.unbind_s()


with Server() as server:
    dc = server.suffix.split(",")[0][3:]
    server.ldapadd(
        ENTRIES.format(suffix=server.suffix, dc=dc, root=server.root_dn, cn=server.root_cn, password=server.root_pw)
    )
    show(server)
    server.restart()
    show(server)
    server.slapadd("dn: cn=Foo2,%s\nobjectClass: inetOrgPerson\ncn: Foo2\nsn: One\n" % server.suffix)
    server.ldapdelete("cn=Foo1," + server.suffix)
    show(server)
