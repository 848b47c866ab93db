#!/usr/bin/env bash
# A directory of 10,000 people on loopback, searched with the real clients; the server is left running. Says first what it will do,
# installs a compiler and the clients if they are missing, and builds the server in the profile `demo`, which compiles soon.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SUFFIX='dc=example,dc=com'
readonly PEOPLE=10000
readonly PORT="${IRONBARK_DEMO_PORT:-3890}"
readonly FOLDER="$PWD/demo"
readonly TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
readonly BIN="$TARGET/demo/ironbark"
# Processor time of the build from nothing, measured.
readonly BUILD_SECONDS=200
readonly URL="ldap://127.0.0.1:$PORT/"
readonly SOCKET_URL="ldapi://$(printf '%s' "$FOLDER/ldapi" | sed 's|/|%2F|g')"

stop_earlier_demo() {
  local pid_file="$FOLDER/slapd.pid" pid
  [ -f "$pid_file" ] || return 0
  pid=$(cat "$pid_file")
  # Only a process that is our server: a stale number may be anybody's. Its file may have been replaced meanwhile.
  case "$(readlink "/proc/$pid/exe" 2>/dev/null)" in
    "$TARGET"/*/ironbark | "$TARGET"/*/'ironbark (deleted)')
      kill "$pid"
      tail --pid="$pid" -f /dev/null
      ;;
  esac
}

write_configuration() {
  cat >"$FOLDER/slapd.conf" <<CONF
# Made by \`make demo\`. The same file works for OpenLDAP's slapd.
include $PWD/schema/core.schema
include $PWD/schema/cosine.schema
include $PWD/schema/inetorgperson.schema
include $PWD/schema/nis.schema
include $PWD/schema/eduperson.schema

pidfile $FOLDER/slapd.pid
argsfile $FOLDER/slapd.args

database mdb
suffix "$SUFFIX"
rootdn "cn=admin,$SUFFIX"
rootpw $1
directory $FOLDER/db
index objectClass eq
index uid,mail eq
index cn,sn eq,sub
index member eq
access to attrs=userPassword
  by self =wx
  by anonymous auth
  by * none
access to *
  by * read

database monitor
access to *
  by * read
CONF
  chmod 600 "$FOLDER/slapd.conf"
}

# Runs a command, shows it, its first lines of output and the time it took.
show() {
  local start=$EPOCHREALTIME output
  # 4 is sizeLimitExceeded: more matched than were asked for.
  output=$("$@" 2>&1) || [ $? = 4 ]
  local micros=$(((${EPOCHREALTIME/./} - ${start/./})))
  printf '\n$'
  local word
  for word in "$@"; do
    # Quoted only where the shell needs it, so that it can be read, and pasted.
    if [[ $word =~ ^[[:alnum:]@%+=:,./_-]+$ ]]; then printf ' %s' "$word"; else printf ' %s' "${word@Q}"; fi
  done
  printf '\n'
  printf '%s\n' "$output" | head -n 14
  printf -- '-- %s lines in %d.%03d ms, the start of the client included\n' \
    "$(printf '%s\n' "$output" | wc -l)" $((micros / 1000)) $((micros % 1000))
}

# What will be done, before it is.
announce() {
  local missing cores minutes
  missing=$(scripts/deps.sh demo --list)
  cores=$(nproc)
  minutes=$(((BUILD_SECONDS / cores + 59) / 60))
  printf 'This will:\n'
  printf '  1. install Debian packages as root: %s\n' "${missing:-none, all are there}"
  if [ -x "$BIN" ]; then
    printf '  2. build what has changed since the last time\n'
  else
    printf '  2. fetch the crates and build the server: about %s min on %s cores\n' "$minutes" "$cores"
  fi
  printf '  3. make a directory of %s people in %s: a few seconds\n' "$PEOPLE" "$FOLDER"
  printf '  4. start the server on %s, search it, and leave it running\n\n' "$URL"
}

announce
scripts/deps.sh demo
"${CARGO:-cargo}" build --profile demo --locked --package ironbark-admin --bin ironbark
printf -- '-- ready to start after %s s\n' "$SECONDS"

stop_earlier_demo
rm -rf "$FOLDER"
mkdir -p "$FOLDER/db"
PASSWORD=$("$BIN" slappasswd -g -n)
write_configuration "$("$BIN" slappasswd -n -s "$PASSWORD")"

printf 'Making %s people ...\n' "$PEOPLE"
rm -f "$FOLDER/people.ldif"
"$BIN" generate university --count "$PEOPLE" --suffix "$SUFFIX" --output "$FOLDER/people.ldif"
"$BIN" slapadd -q -f "$FOLDER/slapd.conf" -l "$FOLDER/people.ldif"
# Returns when the server listens.
"$BIN" slapd -f "$FOLDER/slapd.conf" -h "$URL $SOCKET_URL"

UID_SEEN=$(sed -n 's/^uid: //p' "$FOLDER/people.ldif" | sed -n 5000p)
DN_SEEN=$(ldapsearch -x -LLL -o ldif-wrap=no -H "$URL" -b "$SUFFIX" "(uid=$UID_SEEN)" 1.1 | sed -n 's/^dn: //p')
show ldapsearch -x -LLL -H "$URL" -b "$SUFFIX" "(uid=$UID_SEEN)" cn mail telephoneNumber
printf -- '-- the first answer, %s s after the start\n' "$SECONDS"
show ldapsearch -x -LLL -H "$URL" -b "$SUFFIX" -z 5 '(&(objectClass=inetOrgPerson)(sn=Ma*))' cn
show ldapsearch -x -LLL -H "$SOCKET_URL" -b "$SUFFIX" -s base '(objectClass=*)' '*' +
show ldapsearch -x -LLL -H "$URL" -b '' -s base '(objectClass=*)' namingContexts supportedLDAPVersion

cat <<TEXT

The server is running (process $(cat "$FOLDER/slapd.pid")), on loopback only. Try next:

  ldapsearch -x -H $URL -b $SUFFIX '(cn=*ann*)' cn mail
  ldapwhoami -x -H $URL -D '$DN_SEEN' -w $UID_SEEN      # a person's password is the uid
  ldapwhoami -x -H $URL -D cn=admin,$SUFFIX -w $PASSWORD
  ldapsearch -x -H $URL -b cn=Monitor -s sub
  $BIN explain -f $FOLDER/slapd.conf -b $SUFFIX '(&(objectClass=person)(sn=Ma*))'
  $BIN slapcat -f $FOLDER/slapd.conf | head

This program was compiled quickly and is slow; \`make build\` makes the quick one.
Stop it with: kill \$(cat $FOLDER/slapd.pid)
TEXT
