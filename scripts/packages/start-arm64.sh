#!/usr/bin/env bash
# Starts the program of the arm64 package under qemu: a new directory, the server, a search, the end.
#
#   start-arm64.sh [PACKAGE]
set -euo pipefail
cd "$(dirname "$0")/../.."

package=${1:-$(echo "$(scripts/packages/target.sh)"/packages/ironbark_*_arm64.deb)}
work=$(mktemp --directory)
server=
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

dpkg-deb --extract "$package" "$work/system"
program=(qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/system/usr/bin/ironbark")
"${program[@]}" --version
"${program[@]}" init "$work/directory" --suffix dc=example,dc=org >/dev/null
socket=$work/ldapi
url=ldapi://$(echo "$socket" | sed 's|/|%2F|g')/
"${program[@]}" slapd -d 0 -s 0 -f "$work/directory/slapd.conf" -h "$url" &
server=$!
for _ in $(seq 100); do
  if found=$(ldapsearch -LLL -x -H "$url" -s base -b '' namingContexts 2>/dev/null); then break; fi
  sleep 0.1
done
echo "$found" | grep -q '^namingContexts: dc=example,dc=org$'
kill "$server"
wait "$server"
server=
echo 'arm64: the server starts, answers a search and ends'
