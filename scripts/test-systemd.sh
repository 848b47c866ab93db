#!/usr/bin/env bash
# Boots a clean Debian 12 with systemd in a container, installs the packages there and tests the service: its start, its
# sandbox, the watchdog, the socket, reload and stop.
#
#   test-systemd.sh [--packages FOLDER]    packages that have been built (target/packages)
#
# Root is needed. The system has a loopback of its own and no other network. It is made by mmdebstrap from the apt sources
# of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(scripts/packages/target.sh)
packages=$target/packages
[ "${1:-}" != --packages ] || packages=$2
if [ "$(id -u)" != 0 ]; then
  echo 'test-systemd.sh: root is needed (a container with systemd)' >&2
  exit 1
fi
for file in "$packages"/ironbark_*_"$(dpkg --print-architecture)".deb "$packages"/ironbark-slapd_*.deb; do
  [ -e "$file" ] || { echo "test-systemd.sh: there is no $file: run make deb" >&2; exit 1; }
done

mkdir -p "$target/package-tests"
work=$(mktemp --directory --tmpdir="$target/package-tests" systemd.XXXXXX)
container=
leave() {
  [ -z "$container" ] || { kill "$container" && wait "$container"; } 2>/dev/null || :
  rm -rf "$work"
}
trap leave EXIT

echo 'making a system with systemd'
scripts/packages/sources.sh | mmdebstrap --quiet --variant=minbase \
  --include=systemd-sysv,dbus,adduser,debconf,init-system-helpers,iproute2,ldap-utils,libsasl2-modules,procps \
  bookworm "$work/root" - >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mkdir "$work/root/packages"
cp "$packages"/ironbark_*_"$(dpkg --print-architecture)".deb "$packages"/ironbark-slapd_*.deb "$work/root/packages/"
install scripts/packages/under-systemd.sh "$work/root/"

systemd-nspawn --quiet --directory "$work/root" --private-network --register=no --keep-unit --boot --console=pipe \
  >"$work/log" 2>&1 </dev/null &
container=$!
leader=
for _ in $(seq 150); do
  # The first child is process 1 of the container.
  leader=$(cut -d ' ' -f 1 "/proc/$container/task/$container/children" 2>/dev/null) || leader=
  if [ -n "$leader" ] && nsenter --target "$leader" --all systemctl is-system-running 2>/dev/null |
    grep -qE '^(running|degraded)$'; then
    break
  fi
  kill -0 "$container" 2>/dev/null || { cat "$work/log"; exit 1; }
  sleep 0.2
done
echo 'the service under systemd'
nsenter --target "$leader" --all env -i /under-systemd.sh
echo 'systemd: ok'
