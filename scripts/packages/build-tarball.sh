#!/usr/bin/env bash
# Builds the tarball with the static program (musl): for any Linux on this kind of processor.
#
#   build-tarball.sh [--binary FILE] [--out FOLDER]
#
#   --binary  a static program that has been built before
#   --out     where the tarball goes (target/packages)
set -euo pipefail
cd "$(dirname "$0")/../.."

binary=
target=$(scripts/packages/target.sh)
out=$target/packages
while [ $# -gt 0 ]; do
  case "$1" in
    --binary) binary=$2; shift ;;
    --out) out=$2; shift ;;
    *) sed -n '4p' "$0" >&2; exit 2 ;;
  esac
  shift
done

machine=$(uname -m)
triple=$machine-unknown-linux-musl
if [ -z "$binary" ]; then
  export "CC_${machine}_unknown_linux_musl=musl-gcc"
  cargo build --release --locked --package ironbark-admin --bin ironbark --target "$triple"
  binary=$target/$triple/release/ironbark
fi

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
name=ironbark-$version-linux-$machine
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
tree=$work/$name
install -D "$binary" "$tree/bin/ironbark"
strip --strip-all "$tree/bin/ironbark"
for tool in slapd slapacl slapadd slapauth slapcat slapdn slapindex slapmodify slappasswd slapschema slaptest; do
  ln -s ironbark "$tree/bin/$tool"
done
scripts/packages/man.py "$tree/bin/ironbark" "$tree/share/man" "$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)"
mkdir -p "$tree/docs"
cp -r schema "$tree/schema"
(cd docs && find . -name '*.md' -exec cp --parents {} "$tree/docs" \;)
cp README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md LICENSE-MIT LICENSE-APACHE "$tree/"
scripts/packages/third_party.py --target "$triple" >"$tree/third-party-licences.txt"
mkdir -p "$out"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" "$name" |
  gzip -9 --no-name >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"
