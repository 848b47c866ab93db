#!/usr/bin/env bash
# Starts the program from the tree of an image: a root that cannot be written but for /data, no /tmp, no /dev, a user of
# a large number. Prints the times from start to ready and the idle memory.
#
#   image-check.sh TREE
set -euo pipefail
tree=$1
[ "$(id -u)" = 0 ] || { echo 'image-check.sh: root is needed' >&2; exit 2; }

# In a mount namespace of its own, which ends with this script.
if [ "${IN_NAMESPACE:-}" != yes ]; then
  IN_NAMESPACE=yes exec unshare --mount --propagation private "$0" "$tree"
fi
work=$(mktemp --directory)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; umount --lazy "$work/root" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/root" "$work/data"
chmod 2770 "$work/data"
mount --bind "$tree" "$work/root"
mkdir -p "$tree/proc"
mount --bind "$work/data" "$work/root/data"
mount -t proc proc "$work/root/proc" 2>/dev/null || mount --rbind /proc "$work/root/proc"
mount -o remount,bind,ro "$work/root"
if touch "$work/root/x" 2>/dev/null; then echo 'image-check.sh: the root can be written' >&2; exit 1; fi

inside() {
  chroot --userspec 1000650000:0 "$work/root" "$@"
}
start() {
  local before after
  before=$(date +%s%N)
  env -i IRONBARK_ADDRESS=127.0.0.1 IRONBARK_METRICS=127.0.0.1:29330 LDAP_PORT_NUMBER=21389 \
    LDAP_ADMIN_PASSWORD=checked /usr/sbin/chroot --userspec 1000650000:0 "$work/root" /ironbark container >"$work/log" 2>&1 &
  pid=$!
  until inside /ironbark health --ready 127.0.0.1:29330 >/dev/null 2>&1; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  done
  after=$(date +%s%N)
  echo "$1: ready after $(((after - before) / 1000000)) ms (the probe's own start included)"
}
start 'first start'
echo "idle memory: $(sed -n 's/^VmRSS:[ \t]*//p' "/proc/$pid/status"), of which private: $(sed -n 's/^RssAnon:[ \t]*//p' "/proc/$pid/status")"
kill "$pid"; wait "$pid"; pid=
start 'later start'
kill "$pid"; wait "$pid"; pid=
