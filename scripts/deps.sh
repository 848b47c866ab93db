#!/usr/bin/env bash
# Installs what is missing on Debian and its kin: packages by apt, Rust components by rustup.
#
#   deps.sh [build|demo|cluster|ycsb|docs|test|gssapi|packages|systemd|arm64|tarball|image] [--list]
#
#   build    a C compiler
#   demo     that and the clients of `make demo`
#   cluster  a compiler, and the etcd of `make demo-cluster`
#   ycsb     a compiler, and what scripts/bench/ycsb.sh runs besides: etcd, Java 17 and Maven
#   docs     a compiler, Python, and mdBook in target/tools
#   test     everything that the tests and benchmarks need (the default)
#   gssapi   that and what the feature gssapi is built and tested with
#   packages what Debian packages are built and tested with
#   systemd  that, and a container for systemd
#   arm64    that of packages, a compiler and an emulator for arm64
#   tarball  that of packages, and a C compiler for static programs
#   image    what a container image is built with
#   --list   only names the packages that are missing
#
# Quick and silent when everything is there. Works as root, or with sudo. slapd, Postfix, sssd and their like are wanted as programs to
# compare and talk with, not as services: no daemon is started, and no database is created for slapd.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PURPOSE="${1:-test}"

packages=(
  ca-certificates     # by which cargo knows the registry
  gcc libc6-dev       # the linker, and the C of LMDB and of the cryptography
)
case "$PURPOSE" in
  build) ;;
  demo)
    packages+=(ldap-utils)
    ;;
  cluster)
    packages+=(etcd-client etcd-server python3)
    ;;
  ycsb)
    packages+=(curl default-jdk-headless etcd-server maven python3)
    ;;
  docs)
    packages+=(python3)
    ;;
  test | gssapi)
    packages+=(
      389-ds-base         # a provider with a change log
      build-essential     # fuzzing has C++
      etcd-client etcd-server # the log of a cluster
      default-jdk-headless # JNDI, the LDAP client of Java
      ldap-utils          # ldapsearch and its family
      libsasl2-modules    # SASL mechanisms of the clients
      haproxy             # speaks the PROXY protocol to pldap://
      libnss-sss libpam-sss pamtester sssd-ldap # users of the directory as users of a machine
      openssl             # a client of TLS
      postfix-ldap        # Postfix's maps
      # A domain controller of Active Directory to follow: 72 MB with what they need.
      samba samba-ad-provision samba-dsdb-modules samba-vfs-modules
      python3-ldap        # for /usr/bin/python3; a python3 elsewhere on PATH does not see it
      python3-prometheus-client # its parser reads what /metrics says
      python3-yaml        # reads the alert rules of docs/observability.md
      slapd               # the reference server
      slapd-contrib       # its further modules: smbk5pwd
      strace              # makes the disks of a cluster slow
      valgrind            # its callgrind counts the instructions of the hot paths
    )
    ;;
  packages | systemd | arm64 | tarball)
    packages+=(
      binutils            # readelf and strip
      dpkg-dev            # with dpkg-deb, of which the packages are made
      python3             # writes the manual pages
    )
    ;;
  image)
    packages+=(
      binutils            # strip
      buildah             # makes an image without a daemon
      musl-tools          # a C compiler for static programs
    )
    ;;
  *)
    echo "usage: $0 [build|demo|cluster|ycsb|docs|test|gssapi|packages|systemd|arm64|tarball|image] [--list]" >&2
    exit 2
    ;;
esac
case "$PURPOSE" in
  test | gssapi | packages | systemd | arm64 | tarball)
    packages+=(
      apparmor            # checks its profile
      iproute2            # sets up the loopback of a clean system, and the links of a cluster under test
      lintian             # checks the packages
      mmdebstrap          # makes the clean system
      systemd             # checks the units
    )
    ;;
esac
case "$PURPOSE" in
  arm64) packages+=(gcc-aarch64-linux-gnu ldap-utils libc6-dev-arm64-cross qemu-user) ;;
  systemd) packages+=(systemd-container) ;;
  tarball) packages+=(musl-tools) ;;
esac
if [ "$PURPOSE" = gssapi ]; then
  packages+=(
    krb5-admin-server krb5-kdc krb5-user # a KDC and its clients
    libclang-dev                # reads the headers
    libkrb5-dev
    libsasl2-modules-gssapi-mit # GSSAPI in the clients
  )
fi

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "root is needed for: $* (and there is no sudo)"
  fi
}

# Debian's package scripts ask /usr/sbin/policy-rc.d whether they may start a daemon. The administrator's own answer is put back.
policy=/usr/sbin/policy-rc.d
restore_policy() {
  as_root rm -f "$policy"
  if [ -e "$policy.before-ironbark" ]; then as_root mv "$policy.before-ironbark" "$policy"; fi
}

forbid_daemons() {
  trap restore_policy EXIT
  if [ -e "$policy" ]; then as_root mv "$policy" "$policy.before-ironbark"; fi
  printf '#!/bin/sh\n# Written by the ironbark build for the time of an installation.\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}

missing=()
find_missing() {
  local package
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
}


install_packages() {
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "please install the equivalents of: ${missing[*]}"
  say "installing ${missing[*]}"
  local apt=(apt-get --quiet)
  if [ -t 1 ]; then apt=(apt-get); fi
  # A new machine may have no lists of packages.
  apt-cache show --quiet=2 "${missing[@]}" >/dev/null 2>&1 || as_root "${apt[@]}" update
  if [ "$PURPOSE" = test ] || [ "$PURPOSE" = gssapi ]; then
    forbid_daemons
    printf '%s\n' 'slapd slapd/no_configuration boolean true' 'postfix postfix/main_mailer_type select No configuration' |
      as_root debconf-set-selections
  fi
  apt=(env DEBIAN_FRONTEND=noninteractive "${apt[@]}" --yes --no-install-recommends --show-progress install "${missing[@]}")
  # Lists that are old name versions that are gone.
  as_root "${apt[@]}" || { as_root apt-get --quiet update && as_root "${apt[@]}"; }
}

install_rust() {
  local wanted have
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  have=$(rustc --version | cut -d ' ' -f 2)
  if [ "$(printf '%s\n%s\n' "$wanted" "${have%%-*}" | sort --version-sort | head -n 1)" != "$wanted" ]; then
    command -v rustup >/dev/null || die "Rust $wanted or later is needed, this is $have"
    say "updating Rust $have"
    rustup update stable
  fi
  case "$PURPOSE" in
    arm64) rustup target add aarch64-unknown-linux-gnu ;;
    tarball | image) rustup target add "$(uname -m)-unknown-linux-musl" ;;
  esac
  [ "$PURPOSE" = test ] || [ "$PURPOSE" = gssapi ] || return 0
  local component
  for component in rustfmt clippy; do
    if ! "cargo-${component/rust/}" --version >/dev/null 2>&1; then
      command -v rustup >/dev/null || die "the Rust component $component is missing"
      rustup component add "$component"
    fi
  done
}

# The version is fixed: the next one may write other pages.
install_mdbook() {
  local version=0.5.4
  [ "$(target/tools/bin/mdbook --version 2>/dev/null)" = "mdbook v$version" ] && return
  say "building mdBook $version: some minutes"
  cargo install --quiet --locked mdbook --version "$version" --no-default-features --features search --root target/tools
}

check_python() {
  /usr/bin/python3 -c 'import ldap' 2>/dev/null || die "/usr/bin/python3 cannot import ldap although python3-ldap is installed"
}

find_missing
if [ "${2:-}" = --list ]; then
  printf '%s\n' "${missing[*]}"
  exit
fi
# Before anything is installed for it.
command -v cargo >/dev/null || die "Rust is missing: see https://rustup.rs, then run this again"
# A run that was killed has left its answer in place of the administrator's.
if grep --quiet --no-messages 'Written by the ironbark build' "$policy"; then restore_policy; fi
install_packages
install_rust
if [ "$PURPOSE" = docs ]; then install_mdbook; fi
if [ "$PURPOSE" = test ] || [ "$PURPOSE" = gssapi ]; then check_python; fi
