#!/bin/bash
# What must hold of the service in a booted system with systemd; run by test-systemd.sh as root. /packages has the
# packages. The network is a loopback.
set -Eeuo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
readonly LOG=/tmp/log

die() {
  echo "FAILED: $*"
  systemctl --no-pager --full status slapd.service || :
  journalctl --no-pager --unit slapd.service | tail -n 20
  tail -n 20 "$LOG"
  exit 1
}
trap 'die "line $LINENO: $BASH_COMMAND"' ERR
: >"$LOG"

quietly() { "$@" >>"$LOG" 2>&1 </dev/null; }
expect() { [ "$1" = "$2" ] || die "expected <$2>, found <$1>"; }
property() { systemctl show --value --property "$1" slapd.service; }
answers() { quietly ldapsearch -x -H ldap://127.0.0.1/ -s base -b dc=example,dc=org; }
# Waits up to 30 s for a command to succeed.
eventually() {
  for _ in $(seq 150); do
    if quietly "$@"; then return; fi
    sleep 0.2
  done
  die "in vain: $*"
}
is_another() { [ "$(property MainPID)" != "$1" ] && [ "$(property ActiveState)" = active ] && answers; }
# A command in the mount namespace of the service.
inside() { nsenter --target "$(property MainPID)" --mount "$@"; }

debconf-set-selections <<END
slapd slapd/domain string example.org
slapd slapd/password1 password secret
slapd slapd/password2 password secret
END
quietly dpkg --install /packages/ironbark_*.deb
quietly dpkg --install /packages/ironbark-slapd_*.deb
echo '    started, and known as started when it listens'
expect "$(property ActiveState) $(property Type) $(property StatusText | head -c 1 | wc -c)" 'active notify 1'
expect "$(systemctl is-enabled slapd.service)" enabled
answers
expect "$(ps -o user= -p "$(property MainPID)")" openldap

echo '    the sandbox: writes where its data is, and nowhere else'
inside sh -c 'touch /var/lib/ldap/x && rm /var/lib/ldap/x'
for place in /usr /home /etc; do
  if inside touch "$place/x" 2>/dev/null; then die "the sandbox lets $place be written"; fi
done
expect "$(grep NoNewPrivs "/proc/$(property MainPID)/status" | tr -dc 0-9)" 1
expect "$(grep '^Seccomp:' "/proc/$(property MainPID)/status" | tr -dc 0-9)" 2

echo '    killed, it is started anew'
before=$(property MainPID)
kill -KILL "$before"
eventually is_another "$before"

echo '    one that hangs is found by the watchdog'
mkdir -p /run/systemd/system/slapd.service.d
printf '[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n' >/run/systemd/system/slapd.service.d/soon.conf
systemctl daemon-reload
systemctl restart slapd.service
before=$(property MainPID)
sleep 4
expect "$(property MainPID)" "$before"
kill -STOP "$before"
eventually is_another "$before"
rm /run/systemd/system/slapd.service.d/soon.conf
systemctl daemon-reload

echo '    reload, if the configuration says so'
if systemctl reload slapd.service 2>>"$LOG"; then die 'reloaded without "sighup reload"'; fi
ldapmodify -Q -Y EXTERNAL -H ldapi:/// >>"$LOG" 2>&1 <<END
dn: cn=config
changetype: modify
replace: olcSigHup
olcSigHup: reload
END
before=$(property MainPID)
systemctl reload slapd.service
answers
expect "$(property MainPID) $(property ActiveState)" "$before active"

echo '    the socket of systemd: clients wait while the server is started anew'
quietly systemctl stop slapd.service
quietly systemctl enable --now slapd.socket
quietly systemctl start slapd.service
expect "$(ldapwhoami -Q -Y EXTERNAL -H ldapi:///)" 'dn:gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth'
systemctl restart slapd.service &
ldapwhoami -Q -Y EXTERNAL -H ldapi:/// >>"$LOG"
wait $!

echo '    stopped, it has ended well'
quietly systemctl stop slapd.service
expect "$(property ActiveState) $(property Result) $(property ExecMainStatus)" 'inactive success 0'
echo '    systemd calls nothing failed'
expect "$(systemctl list-units --state=failed --plain --no-legend 'slapd*')" ''
