#!/usr/bin/env bash
# Tests the Debian packages in clean systems: installation, upgrade, removal, takeover of a filled slapd, the way back.
#
#   test-packages.sh [--binary FILE] [--packages FOLDER] [--tarball FILE] [SCENARIO...]
#
#   --binary    the program to pack (without it and --packages, a release build is made)
#   --packages  packages that have been built: FOLDER has both
#   --tarball   tests this static tarball too
#   SCENARIO    only these functions of packages/scenarios.sh
#
# Root is needed, for chroot and for namespaces of mounts, processes and network: the servers listen on a loopback of
# their own. The base system is made by mmdebstrap from the apt sources of this machine, once; it is kept in the target
# directory. ENTRIES (400) is the number of people in the slapd that is taken over.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SUITE=bookworm
export ENTRIES=${ENTRIES:-400}
readonly ON_EMPTY=(fresh few_capabilities manual lifecycle back_without_a_slapd_before)
readonly ON_SLAPD=(takeover_by_apt takeover_by_dpkg takeover_of_a_file takeover_with_contrib interrupted
  fails_and_goes_back refused back_after_takeover)

binary= packages= tarball= wanted=()
while [ $# -gt 0 ]; do
  case "$1" in
    --binary) binary=$(readlink -f "$2"); shift ;;
    --packages) packages=$2; shift ;;
    --tarball) tarball=$2; shift ;;
    -*) sed -n '4p' "$0" >&2; exit 2 ;;
    *) wanted+=("$1") ;;
  esac
  shift
done
if [ "$(id -u)" != 0 ]; then
  echo 'test-packages.sh: root is needed (chroot and namespaces)' >&2
  exit 1
fi

target=$(scripts/packages/target.sh)
cache=$target/package-tests
mkdir -p "$cache"
work=$(mktemp --directory --tmpdir="$cache" run.XXXXXX)
trap 'rm -rf "$work"' EXIT

# A base system with the packages of Debian in apt's cache, and another one with a filled slapd.
make_base() {
  local include=adduser,debconf,init-system-helpers,iproute2,ldap-utils,libsasl2-modules,procps
  local key
  key=$(echo "$SUITE $include" | cat - <(scripts/packages/sources.sh) | sha256sum | cut -c 1-16)
  base=$cache/base-$key
  if [ ! -d "$base" ]; then
    echo 'making the base system'
    rm -rf "$cache"/base-* "$cache"/slapd-*
    scripts/packages/sources.sh | mmdebstrap --quiet --variant=minbase --skip=cleanup/apt --include="$include" \
      --customize-hook='chroot "$1" apt-get --quiet --yes --no-install-recommends --download-only install slapd slapd-contrib' \
      "$SUITE" "$work/base" - >"$work/base.log" 2>&1 || { cat "$work/base.log"; exit 1; }
    mv "$work/base" "$base"
  fi
  key=$key-$(sed -n '/^preseed()/,/^# The same configuration/p' scripts/packages/scenarios.sh | cat - <(echo "$ENTRIES") |
    sha256sum | cut -c 1-16)
  with_slapd=$cache/slapd-$key
  if [ ! -d "$with_slapd" ]; then
    rm -rf "$cache"/slapd-*
    cp -a "$base" "$work/slapd"
    in_system "$work/slapd" fill
    mv "$work/slapd" "$with_slapd"
  fi
}

# Runs a scenario in a system, alone with its processes, its mounts and a loopback. With a base system it sees that one,
# and what it changes is in memory.
in_system() {
  local root=$1 scenario=$2 base=${3:-}
  mkdir -p "$root"
  # shellcheck disable=SC2016 # expanded by the inner shell
  PACKAGES=$work/packages unshare --mount --net --pid --uts --ipc --fork --kill-child /bin/bash -c '
    set -e
    if [ -z "$3" ]; then
      mount --bind "$1" "$1"
    else
      mkdir -p "$1.changes"
      mount -t tmpfs none "$1.changes"
      mkdir "$1.changes/upper" "$1.changes/work"
      options=lowerdir=$3,upperdir=$1.changes/upper,workdir=$1.changes/work
      # A container may have no overlays of its own.
      mount -t overlay -o "$options" overlay "$1" 2>/dev/null || cp -a "$3/." "$1/"
    fi
    mkdir -p "$1/packages"
    install scripts/packages/scenarios.sh "$1/scenarios.sh"
    mount -t proc none "$1/proc"
    mount -t tmpfs none "$1/run"
    mount -t tmpfs none "$1/tmp"
    [ ! -d "$PACKAGES" ] || mount --bind "$PACKAGES" "$1/packages"
    ip link set lo up
    exec chroot "$1" /scenarios.sh "$2"
  ' in_system "$root" "$scenario" "$base"
}

run() {
  local base=$1 scenario=$2 start=$SECONDS
  printf '  %s\n' "$scenario"
  in_system "$work/root" "$scenario" "$base"
  printf '    %s s\n' "$((SECONDS - start))"
  rm -rf "$work/root" "$work/root.changes"
}

is_wanted() {
  [ "${#wanted[@]}" = 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

pack() {
  mkdir -p "$work/packages/1" "$work/packages/2"
  if [ -n "$packages" ]; then
    cp "$packages"/ironbark_*_"$(dpkg --print-architecture)".deb "$packages"/ironbark-slapd_*.deb "$work/packages/1/"
    cp "$work/packages/1/"* "$work/packages/2/"
  else
    scripts/packages/build-deb.sh ${binary:+--binary "$binary"} --fast --out "$work/packages/1" >/dev/null
  fi
  # An upgrade needs a later revision of the same.
  rm -rf "$work/packages/2"
  scripts/packages/build-deb.sh --binary "${binary:-$target/release/ironbark}" --fast --out "$work/packages/2" \
    --revision 2 >/dev/null
  [ -z "$tarball" ] || cp "$tarball" "$work/packages/"
}

check_packages() {
  echo '  lintian'
  lintian --allow-root --fail-on error,warning --info "$work"/packages/1/*.deb
  if command -v systemd-analyze >/dev/null; then
    echo '  units'
    mkdir -p "$work/units"
    # Only the syntax is checked: the programs are not installed here.
    for unit in packaging/debian/slapd.service packaging/debian/slapd.socket; do
      sed 's|/usr/lib/ironbark/slapd-service|/bin/true|' "$unit" >"$work/units/$(basename "$unit")"
    done
    systemd-analyze verify --man=no "$work/units/slapd.service" "$work/units/slapd.socket"
    systemd-analyze security --offline=true --threshold=30 --no-pager "$work/units/slapd.service" >"$work/security" ||
      { cat "$work/security"; exit 1; }
    tail -n 1 "$work/security"
  fi
  if command -v apparmor_parser >/dev/null; then
    echo '  AppArmor profile'
    apparmor_parser --skip-kernel-load --skip-cache packaging/debian/apparmor >/dev/null
  fi
}

pack
check_packages
make_base
for scenario in "${ON_EMPTY[@]}" ${tarball:+tarball}; do if is_wanted "$scenario"; then run "$base" "$scenario"; fi; done
for scenario in "${ON_SLAPD[@]}"; do if is_wanted "$scenario"; then run "$with_slapd" "$scenario"; fi; done
printf 'packages: all is well after %s s\n' "$SECONDS"
