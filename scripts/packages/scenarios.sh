#!/bin/bash
# What must hold of the packages: one function each, run by test-packages.sh as root in a clean system of its own, with
# a network that has nothing but loopback. /packages has the packages; packages of Debian come from apt's cache.
#
#   scenarios.sh NAME
set -Eeuo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
# debconf's frontend and dpkg say more than anyone reads; it is shown when something fails.
readonly LOG=/tmp/log
readonly SUFFIX=dc=example,dc=org
readonly ENTRIES=${ENTRIES:-400}

die() {
  echo "FAILED: $*"
  echo "--- the last lines of the log"
  tail -n 40 "$LOG"
  exit 1
}
trap 'die "line $LINENO: $BASH_COMMAND"' ERR
: >"$LOG"
# Without an init system invoke-rc.d starts nothing, unless this says yes.
printf '#!/bin/sh\nexit 0\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d

quietly() { "$@" >>"$LOG" 2>&1 </dev/null; }
expect_failure() { if quietly "$@"; then die "it should have failed: $*"; fi; }
expect() { [ "$1" = "$2" ] || die "expected <$2>, found <$1>"; }

apt_install() { quietly apt-get --yes --no-install-recommends install "$@"; }
our_packages() { echo /packages/1/ironbark_*.deb /packages/1/ironbark-slapd_*.deb; }
as_root() { ldapsearch -LLL -o ldif-wrap=no -Q -Y EXTERNAL -H ldapi:/// "$@" 2>>"$LOG"; }
as_nobody() { ldapsearch -LLL -o ldif-wrap=no -x -H ldap://127.0.0.1/ "$@" 2>>"$LOG"; }
# slapd detaches before it answers.
until_slapd_answers() {
  for _ in $(seq 300); do
    [ -z "$(as_nobody -b "$SUFFIX" -s base dc || true)" ] || return 0
    sleep 0.1
  done
  die 'slapd does not answer'
}
admin_modify() { quietly ldapmodify -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret -f "$1"; }
server_pid() { cat /run/slapd/slapd.pid; }
server_program() { readlink "/proc/$(server_pid)/exe"; }
is_running() { [ -e /run/slapd/slapd.pid ] && [ -e "/proc/$(server_pid)/exe" ]; }
# Sorted values, so that two exports can be compared whatever their order.
content() { grep -v '^#' "$1" | sort; }

preseed() {
  debconf-set-selections <<END
slapd slapd/domain string example.org
slapd shared/organization string Müller & Söhne
slapd slapd/password1 password secret
slapd slapd/password2 password secret
END
}

# The filled directory of a slapd: people, groups and a policy for passwords.
fill() {
  preseed
  apt_install slapd
  cat >/tmp/config.ldif <<END
dn: cn=module{0},cn=config
changetype: modify
add: olcModuleLoad
olcModuleLoad: memberof
olcModuleLoad: refint
olcModuleLoad: ppolicy

dn: olcOverlay=memberof,olcDatabase={1}mdb,cn=config
changetype: add
objectClass: olcOverlayConfig
objectClass: olcMemberOf
olcOverlay: memberof

dn: olcOverlay=refint,olcDatabase={1}mdb,cn=config
changetype: add
objectClass: olcOverlayConfig
objectClass: olcRefintConfig
olcOverlay: refint
olcRefintAttribute: member

dn: olcOverlay=ppolicy,olcDatabase={1}mdb,cn=config
changetype: add
objectClass: olcOverlayConfig
objectClass: olcPPolicyConfig
olcOverlay: ppolicy
olcPPolicyDefault: cn=policy,$SUFFIX
END
  until_slapd_answers
  quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f /tmp/config.ldif
  people >/tmp/people.ldif
  # The mass of people by slapadd; groups over the protocol, so that the overlays do their part.
  quietly invoke-rc.d slapd stop
  sed -n "1,/^# groups/p" /tmp/people.ldif >/tmp/mass.ldif
  quietly slapadd -q -F /etc/ldap/slapd.d -b "$SUFFIX" -l /tmp/mass.ldif
  chown -R openldap:openldap /var/lib/ldap
  quietly invoke-rc.d slapd start
  until_slapd_answers
  sed -n "/^# groups/,\$p" /tmp/people.ldif >/tmp/groups.ldif
  quietly ldapadd -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret -f /tmp/groups.ldif
  # A password policy that has something to remember: a wrong password.
  expect_failure ldapwhoami -x -H ldap://127.0.0.1/ -D "uid=u1,ou=people,$SUFFIX" -w wrong
  quietly invoke-rc.d slapd stop
  slapcat -o ldif-wrap=no -b "$SUFFIX" >/srv/before.ldif
  rm -f /tmp/*.ldif
}

people() {
  awk -v n="$ENTRIES" -v s="$SUFFIX" 'BEGIN {
    printf "dn: ou=people,%s\nobjectClass: organizationalUnit\nou: people\n\n", s
    printf "dn: ou=groups,%s\nobjectClass: organizationalUnit\nou: groups\n\n", s
    for (i = 1; i <= n; i++)
      printf "dn: uid=u%d,ou=people,%s\nobjectClass: inetOrgPerson\nuid: u%d\ncn: Person %d\nsn: Müller %d\nmail: u%d@example.org\nuserPassword: pw%d\ntelephoneNumber: +49 30 %d\ntitle: Number %d\n\n", i, s, i, i, i, i, i, i, i
    printf "# groups\ndn: cn=policy,%s\nobjectClass: applicationProcess\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 3\n\n", s
    for (g = 1; g * 2 <= n / 4 && g <= 200; g++) {
      printf "dn: cn=g%d,ou=groups,%s\nobjectClass: groupOfNames\ncn: g%d\n", g, s, g
      for (i = g; i <= n && i < g + 20; i++) printf "member: uid=u%d,ou=people,%s\n", i, s
      printf "\n"
    }
  }'
}

# The same configuration as a file. slapd reads it, and then Ironbark.
fill_with_file() {
  cat >/etc/ldap/slapd.conf <<END
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile /var/run/slapd/slapd.pid
argsfile /var/run/slapd/slapd.args
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload refint
moduleload ppolicy
database mdb
suffix "$SUFFIX"
rootdn "cn=admin,$SUFFIX"
rootpw secret
directory "/var/lib/ldap"
maxsize 1073741824
index objectClass,uid,member eq
overlay memberof
overlay refint
refint_attributes member
overlay ppolicy
ppolicy_default "cn=policy,$SUFFIX"
END
  rm -rf /etc/ldap/slapd.d
  install --directory --owner openldap --group openldap /run/slapd
  quietly slaptest -u -f /etc/ldap/slapd.conf
}

# Everything that slapd had is there, and the overlays work.
check_taken_over() {
  expect "$(server_program)" /usr/bin/ironbark
  slapcat -o ldif-wrap=no -b "$SUFFIX" >/srv/after.ldif 2>>"$LOG"
  if ! diff <(content /srv/before.ldif) <(content /srv/after.ldif) >>"$LOG"; then die 'the content differs'; fi
  expect "$(as_nobody -b "$SUFFIX" '(uid=u3)' cn | grep '^cn:')" 'cn: Person 3'
  [ -n "$(as_nobody -b "$SUFFIX" '(uid=u3)' memberOf | grep '^memberOf: cn=g1,')" ] || die 'no memberOf'
  cat >/tmp/change.ldif <<END
dn: uid=u5,ou=people,$SUFFIX
changetype: delete

dn: uid=u6,ou=people,$SUFFIX
changetype: modify
replace: title
title: Changed by Ironbark
END
  admin_modify /tmp/change.ldif
  expect "$(as_nobody -b "cn=g1,ou=groups,$SUFFIX" -s base member | grep -c 'uid=u5,' || true)" 0
  # One wrong password was remembered by slapd; with two more the account is locked.
  for _ in 1 2; do expect_failure ldapwhoami -x -H ldap://127.0.0.1/ -D "uid=u1,ou=people,$SUFFIX" -w wrong; done
  expect_failure ldapwhoami -x -H ldap://127.0.0.1/ -D "uid=u1,ou=people,$SUFFIX" -w pw1
  quietly ldapwhoami -x -H ldap://127.0.0.1/ -D "uid=u2,ou=people,$SUFFIX" -w pw2
  expect "$(stat --format %U /var/lib/ldap/data.mdb)" openldap
  ls /var/lib/ldap/slapd-*/data.mdb >>"$LOG" || die 'the old database is gone'
  [ ! -e /var/lib/ldap/ironbark-conversion ] || die 'the mark of the conversion is still there'
}

check_slapd_as_before() {
  quietly invoke-rc.d slapd start || true
  expect "$(server_program)" /usr/sbin/slapd
  slapcat -o ldif-wrap=no -b "$SUFFIX" >/srv/after.ldif 2>>"$LOG"
  if ! diff <(content /srv/before.ldif) <(content /srv/after.ldif) >>"$LOG"; then die 'the content differs'; fi
  until_slapd_answers
}

fresh() {
  local start end
  preseed
  start=$(date +%s%N)
  # shellcheck disable=SC2046 # two files
  apt_install $(our_packages)
  expect "$(as_nobody -b "$SUFFIX" -s base dc)" "dn: $SUFFIX
dc: example"
  end=$(date +%s%N)
  echo "    $(((end - start) / 1000000)) ms from apt-get install to the first answer"
  expect "$(as_nobody -b "$SUFFIX" -s base o)" "dn: $SUFFIX
o:: $(printf 'Müller & Söhne' | base64)"
  quietly ldapwhoami -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret
  expect_failure ldapwhoami -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w wrong
  expect "$(as_root -b cn=config -s base cn | grep ^cn:)" 'cn: config'
  expect "$(stat --format %U "/proc/$(server_pid)")" openldap
  expect "$(stat --format %a:%U /var/lib/ldap/data.mdb)" 600:openldap
  for question in password1 password2 internal/adminpw; do
    expect "$(echo "get slapd/$question" | debconf-communicate)" '0 '
  done
  quietly invoke-rc.d ironbark-slapd status
  quietly invoke-rc.d ironbark-slapd restart
  [ -n "$(as_nobody -b "$SUFFIX" -s base dc)" ] || die 'no answer after a restart'
  quietly invoke-rc.d ironbark-slapd stop
  ! is_running
  touch /etc/ldap/noslapd
  quietly invoke-rc.d ironbark-slapd start
  ! is_running || die 'started although /etc/ldap/noslapd exists'
  # dpkg-reconfigure makes a new directory and keeps the old one.
  rm /etc/ldap/noslapd
  echo 'slapd slapd/domain string example.net' | debconf-set-selections
  quietly dpkg-reconfigure ironbark-slapd
  expect "$(as_nobody -b dc=example,dc=net -s base dc | head -n 1)" 'dn: dc=example,dc=net'
  ls /var/backups/dc=example,dc=net-*.ldapdb/data.mdb >>"$LOG"
}

# As the unit starts it: as root with no more than three capabilities, of which none is left later.
few_capabilities() {
  local pid
  preseed
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  quietly invoke-rc.d ironbark-slapd stop
  quietly /usr/lib/ironbark/slapd-service condition
  quietly /usr/lib/ironbark/slapd-service prepare
  setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+net_bind_service,+setgid,+setuid \
    /usr/lib/ironbark/slapd-service foreground >>"$LOG" 2>&1 &
  pid=$!
  for _ in $(seq 100); do
    [ -z "$(as_root -b cn=config -s base cn || true)" ] || break
    sleep 0.1
  done
  expect "$(server_pid)" "$pid"
  expect "$(sed -n 's/^CapEff:\t//p' "/proc/$pid/status")" 0000000000000000
  printf 'dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 77\n' >/tmp/c.ldif
  quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f /tmp/c.ldif
  grep -q '^olcIdleTimeout: 77$' /etc/ldap/slapd.d/cn=config.ldif
  kill "$pid"
  wait "$pid"
  [ ! -e /run/slapd/ldapi ] || die 'the socket is left'
}

manual() {
  preseed
  echo 'slapd slapd/no_configuration boolean true' | debconf-set-selections
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  ! is_running
  [ ! -e /etc/ldap/slapd.d ]
  [ ! -e /etc/ldap/slapd.conf ]
}

lifecycle() {
  local before
  preseed
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  printf 'dn: ou=kept,%s\nobjectClass: organizationalUnit\nou: kept\n' "$SUFFIX" >/tmp/add.ldif
  quietly ldapadd -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret -f /tmp/add.ldif
  before=$(server_pid)
  apt_install /packages/2/*.deb
  [ "$before" != "$(server_pid)" ] || die 'the upgraded server does not run'
  [ -n "$(as_nobody -b "ou=kept,$SUFFIX" -s base ou)" ] || die 'the upgrade has lost an entry'
  quietly apt-get --yes remove ironbark-slapd
  ! is_running
  [ ! -e /usr/sbin/slapd ]
  grep -q '^dn: ou=kept' /var/backups/slapd-ironbark-*/"$SUFFIX.ldif"
  [ -e /etc/ldap/slapd.d/cn=config.ldif ]
  apt_install /packages/2/*.deb
  [ -n "$(as_nobody -b "ou=kept,$SUFFIX" -s base ou)" ] || die 'the new installation has lost an entry'
  quietly apt-get --yes purge ironbark-slapd
  [ ! -e /etc/ldap/slapd.d ]
  [ -e /var/lib/ldap/data.mdb ] || die 'the database was deleted, which nobody had asked for'
  preseed
  apt_install /packages/2/*.deb
  [ -z "$(as_nobody -b "ou=kept,$SUFFIX" -s base ou || true)" ] || die 'an old database is served'
  ls /var/backups/"$SUFFIX"-*.ldapdb/data.mdb >>"$LOG"
  echo 'slapd slapd/purge_database boolean true' | debconf-set-selections
  quietly apt-get --yes purge ironbark-slapd ironbark
  [ ! -e /var/lib/ldap ] || die 'the database is still there'
  [ -z "$(find /etc /var/lib -name '*ironbark*' ! -path '/var/lib/systemd/*' ! -path '/var/lib/apt/*')" ] ||
    die "left behind: $(find /etc /var/lib -name '*ironbark*')"
}

takeover_by_apt() {
  quietly invoke-rc.d slapd start
  local start end
  start=$(date +%s%N)
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  [ -n "$(as_nobody -b "$SUFFIX" '(uid=u3)' cn)" ] || die 'no answer'
  end=$(date +%s%N)
  echo "    $(((end - start) / 1000000)) ms for $(grep -c ^dn: /srv/before.ldif) entries, from apt-get install to the first answer"
  check_taken_over
  # Purging what is left of slapd deletes /etc/ldap/slapd.d.
  quietly dpkg --purge slapd
  quietly invoke-rc.d ironbark-slapd restart
  expect "$(as_nobody -b "uid=u6,ou=people,$SUFFIX" -s base title | grep ^title)" 'title: Changed by Ironbark'
}

takeover_by_dpkg() {
  quietly invoke-rc.d slapd start
  quietly dpkg --install /packages/1/ironbark_*.deb
  /usr/lib/ironbark/slapd-takeover check >/tmp/verdict 2>>"$LOG"
  grep -q '^GO: ' /tmp/verdict || die 'no GO'
  grep -q "^Data  *$(grep -c ^dn: /srv/before.ldif) entries .* 0 refused" /tmp/verdict || die "$(cat /tmp/verdict)"
  # A database that slapd has open is known as one of slapd.
  quietly /usr/lib/ironbark/slapd-takeover export
  expect "$(grep -c ^dn: /var/lib/ironbark-slapd/exports/1.ldif)" "$(grep -c ^dn: /srv/before.ldif)"
  quietly dpkg --install /packages/1/ironbark-slapd_*.deb
  check_taken_over
}

takeover_of_a_file() {
  fill_with_file
  quietly invoke-rc.d slapd start
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  check_taken_over
  [ ! -e /etc/ldap/slapd.d ] || die 'there is a configuration directory'
}

takeover_with_contrib() {
  # apt removes slapd-contrib first. Then the configuration asks for a module that slapd does not find any more.
  apt_install slapd-contrib
  quietly invoke-rc.d slapd start
  printf 'dn: cn=module{0},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: lastbind\n' >/tmp/c.ldif
  quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f /tmp/c.ldif
  # shellcheck disable=SC2046
  quietly dpkg --install /packages/1/ironbark_*.deb
  quietly invoke-rc.d slapd stop
  quietly /usr/lib/ironbark/slapd-takeover export
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  check_taken_over
}

interrupted() {
  # shellcheck disable=SC2046
  quietly dpkg --install /packages/1/ironbark_*.deb
  quietly dpkg --unpack /packages/1/ironbark-slapd_*.deb
  local child condition seen=0
  # With the mark alone, with the folder for the old database, without any database, and with a part of the new one. Each
  # one comes later than the one before, so that a killed conversion has gone on until there.
  for condition in '-e ironbark-conversion' '-d slapd-*' '! -e data.mdb' '-e data.mdb'; do
    setsid /usr/lib/ironbark/slapd-takeover convert >>"$LOG" 2>&1 </dev/null &
    child=$!
    # shellcheck disable=SC2086 # a condition of several words
    (cd /var/lib/ldap && while kill -0 "$child" 2>/dev/null && ! [ $condition ]; do :; done)
    kill -9 -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    if [ -e /var/lib/ldap/ironbark-conversion ]; then seen=$((seen + 1)); fi
  done
  echo "    killed $seen times in the middle"
  [ "$seen" -gt 0 ] || die 'no conversion was interrupted'
  quietly dpkg --configure --pending
  check_taken_over
}

fails_and_goes_back() {
  local sum
  # A disk that is too small for the new database.
  cp -a /var/lib/ldap /tmp/ldap
  sum=$(sha256sum </var/lib/ldap/data.mdb)
  mount -t tmpfs -o "size=$(($(du --block-size=1024 /var/lib/ldap | cut -f 1) + 40))k" none /var/lib/ldap
  cp -a --sparse=always /tmp/ldap/. /var/lib/ldap/
  chown openldap:openldap /var/lib/ldap
  # shellcheck disable=SC2046
  expect_failure apt-get --yes install $(our_packages)
  expect "$(dpkg-query --show --showformat '${db:Status-Status}' ironbark-slapd)" half-configured
  expect "$(sha256sum </var/lib/ldap/data.mdb)" "$sum"
  [ -z "$(ls -d /var/lib/ldap/slapd-* /var/lib/ldap/ironbark-* 2>/dev/null)" ] || die 'parts of a conversion are left'
  apt_install slapd
  check_slapd_as_before
  # With room it goes on.
  mount -o remount,size=1g /var/lib/ldap
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  check_taken_over
}

refused() {
  quietly invoke-rc.d slapd start
  cat >/tmp/c.ldif <<END
dn: cn=module{0},cn=config
changetype: modify
add: olcModuleLoad
olcModuleLoad: back_ldap
olcModuleLoad: rwm

dn: olcDatabase=ldap,cn=config
changetype: add
objectClass: olcDatabaseConfig
objectClass: olcLDAPConfig
olcDatabase: ldap
olcSuffix: dc=far
olcDbURI: ldap://127.0.0.1:1

dn: olcOverlay=rwm,olcDatabase={1}mdb,cn=config
changetype: add
objectClass: olcOverlayConfig
objectClass: olcRwmConfig
olcOverlay: rwm

END
  quietly ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f /tmp/c.ldif
  quietly dpkg --install /packages/1/ironbark_*.deb
  if /usr/lib/ironbark/slapd-takeover check >/tmp/verdict 2>>"$LOG"; then die 'the check says GO'; fi
  grep -q '^NO-GO: 2 things' /tmp/verdict || die "$(cat /tmp/verdict)"
  # There is nothing to go back from: slapd goes on, and nothing is made.
  expect_failure /usr/lib/ironbark/slapd-takeover back /var/backups/back
  [ ! -e /var/backups/back ] || die 'a folder is left behind'
  is_running || die 'a refused way back has stopped slapd'
  expect_failure dpkg --install /packages/1/ironbark-slapd_*.deb
  grep -q 'Ironbark does not obey /etc/ldap/slapd.d' "$LOG" || die 'the reason is not told'
  grep -q '^NO-GO: 2 things' "$LOG" || die 'not all reasons are told'
  expect "$(dpkg-query --show --showformat '${db:Status-Status}' slapd)" installed
  check_slapd_as_before
  # apt has removed slapd before; it can be installed again.
  # shellcheck disable=SC2046
  expect_failure apt-get --yes install $(our_packages)
  apt_install slapd
  check_slapd_as_before
}

back_after_takeover() {
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  check_taken_over
  printf 'dn: ou=new,%s\nobjectClass: organizationalUnit\nou: new\n' "$SUFFIX" >/tmp/add.ldif
  quietly ldapadd -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret -f /tmp/add.ldif
  go_back
  [ -n "$(as_nobody -b "ou=new,$SUFFIX" -s base ou)" ] || die 'slapd lacks what was written under Ironbark'
}

back_without_a_slapd_before() {
  preseed
  # shellcheck disable=SC2046
  apt_install $(our_packages)
  printf 'dn: ou=new,%s\nobjectClass: organizationalUnit\nou: new\n' "$SUFFIX" >/tmp/add.ldif
  quietly ldapadd -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret -f /tmp/add.ldif
  go_back
  [ -n "$(as_nobody -b "ou=new,$SUFFIX" -s base ou)" ] || die 'slapd lacks what was written under Ironbark'
  quietly ldapwhoami -x -H ldap://127.0.0.1/ -D "cn=admin,$SUFFIX" -w secret
}

go_back() {
  slapcat -o ldif-wrap=no -b "$SUFFIX" >/srv/before.ldif 2>>"$LOG"
  mkdir /tmp/mine
  expect_failure /usr/lib/ironbark/slapd-takeover back /tmp/mine
  expect_failure setpriv --reuid=nobody --clear-groups /usr/lib/ironbark/slapd-takeover back /tmp/of-nobody
  [ ! -e /tmp/of-nobody ] || die 'a folder is left behind'
  is_running || die 'a refused way back has stopped the server'
  quietly /usr/lib/ironbark/slapd-takeover back /var/backups/back
  # Without slapd there is nothing to load into.
  expect_failure /var/backups/back/load
  apt_install slapd
  quietly /var/backups/back/load
  check_slapd_as_before
  # Loaded again, the exports would replace what has been written since then.
  expect_failure /var/backups/back/load
  check_slapd_as_before
  quietly apt-get --yes purge ironbark-slapd ironbark
  check_slapd_as_before
}

tarball() {
  tar -C /opt -xzf /packages/ironbark-*.tar.gz
  local program
  program=$(echo /opt/ironbark-*/bin/ironbark)
  ldd "$program" 2>&1 | grep -q 'statically linked\|not a dynamic' || die 'it is not static'
  PATH=$(dirname "$program"):$PATH
  ironbark init /srv/directory --suffix "$SUFFIX" >/tmp/init
  ironbark slapd -f /srv/directory/slapd.conf -h ldap://127.0.0.1:3890/ >>"$LOG" 2>&1
  ldapsearch -LLL -x -H ldap://127.0.0.1:3890/ -s base -b '' namingContexts | grep -q "$SUFFIX"
}

"$1"
