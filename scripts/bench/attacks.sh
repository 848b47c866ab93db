#!/usr/bin/env bash
# Requests that are meant to stop a server, and what others wait beside each: attacks.sh PROGRAM [NAME[:COUNT]...]
# PROGRAM is ironbark or Debian's slapd. RULES may hold access rules, a line each.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(realpath "$1")
shift
folder=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
trap 'kill "$pid" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

mkdir "$folder/db"
modules=
case "$program" in
*/slapd) modules=$'modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload deref\nmoduleload sssvlv\nmoduleload valsort' add=/usr/sbin/slapadd ;;
*) ln -s "$program" "$folder/slapd" && ln -s "$program" "$folder/slapadd" && program=$folder/slapd add=$folder/slapadd ;;
esac
{
  printf '%s\n' "$modules"
  printf 'include %s/schema/%s.schema\n' "$PWD" core "$PWD" cosine "$PWD" inetorgperson
  printf 'sizelimit unlimited\nsockbuf_max_incoming_auth 16777215\ndatabase mdb\nsuffix dc=example,dc=com\n'
  printf 'rootdn cn=admin,dc=example,dc=com\nrootpw secret\nmaxsize 8589934592\ndirectory %s/db\n' "$folder"
  printf 'index objectClass eq\nindex description sub\n%s\n' "${RULES:-}"
  [ -z "$modules" ] || printf 'overlay deref\noverlay sssvlv\n'
} >"$folder/slapd.conf"
scripts/bench/attacks.py ldif >"$folder/data.ldif"
"$add" -q -f "$folder/slapd.conf" -l "$folder/data.ldif"
"$program" -d 0 -f "$folder/slapd.conf" -h "ldap://127.0.0.1:$port" 2>"$folder/log" &
pid=$!
until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  kill -0 "$pid" || { cat "$folder/log" >&2 && exit 1; }
done
scripts/bench/attacks.py "$port" "$pid" "$@"
