#!/usr/bin/env bash
# Builds the Debian packages ironbark and ironbark-slapd.
#
#   build-deb.sh [--arch amd64|arm64] [--binary FILE] [--run FILE] [--out FOLDER] [--revision N] [--fast]
#
#   --arch      the architecture of the packages (that of this machine)
#   --binary    the program that goes into the package; without it, it is built by cargo build --release
#   --run       the program that the manual pages are taken from, if this machine cannot run the other one
#   --out       where the packages go (target/packages)
#   --revision  the Debian revision (1)
#   --fast      little compression, for tests
#
# No root is needed: dpkg-deb writes the owners.
set -euo pipefail
cd "$(dirname "$0")/../.."

arch=$(dpkg --print-architecture)
binary= run= revision=1 compression=(-Zxz)
target=$(scripts/packages/target.sh)
out=$target/packages
while [ $# -gt 0 ]; do
  case "$1" in
    --arch) arch=$2; shift ;;
    --binary) binary=$2; shift ;;
    --run) run=$2; shift ;;
    --out) out=$2; shift ;;
    --revision) revision=$2; shift ;;
    --fast) compression=(-Zgzip -z1) ;;
    *) sed -n '4p' "$0" >&2; exit 2 ;;
  esac
  shift
done

case "$arch" in
  amd64) triple=x86_64-unknown-linux-gnu strip=strip ;;
  arm64) triple=aarch64-unknown-linux-gnu strip=aarch64-linux-gnu-strip ;;
  *) echo "build-deb.sh: no build for $arch" >&2; exit 2 ;;
esac
[ "$arch" != "$(dpkg --print-architecture)" ] || strip=strip

if [ -z "$binary" ]; then
  if [ "$arch" = "$(dpkg --print-architecture)" ]; then
    cargo build --release --locked --package ironbark-admin --bin ironbark
    binary=$target/release/ironbark
  else
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
    cargo build --release --locked --package ironbark-admin --bin ironbark --target "$triple"
    binary=$target/$triple/release/ironbark
  fi
fi
run=${run:-$binary}

field() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" Cargo.toml | head -n 1; }
version=$(field version)-$revision
homepage=$(field repository)
maintainer='The Ironbark contributors <ironbark-directory@users.noreply.github.com>'
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
day=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

# The libraries that the program needs, as packages: the newest version of glibc's symbols tells the version of libc6.
shared() {
  local needed glibc depends=
  needed=$(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  glibc=$(readelf --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort --version-sort | tail -n 1)
  for library in $needed; do
    case "$library" in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-*) ;;
      libgcc_s.so.1) depends=", libgcc-s1 (>= 4.2)" ;;
      *) echo "build-deb.sh: no package is known for $library" >&2; return 1 ;;
    esac
  done
  echo "libc6 (>= $glibc)$depends"
}

# A file with a mode; folders are made.
put() {
  local mode=$1 to=$3
  install -D --mode "$mode" "$2" "$to"
}

gzipped() {
  mkdir -p "$(dirname "$2")"
  gzip -9 --no-name <"$1" >"$2"
  chmod 644 "$2"
}

documents() {
  local package=$1 folder=$2/usr/share/doc/$1
  mkdir -p "$folder"
  {
    sed -e '/^@DEPENDENCIES@/,$d' packaging/debian/copyright
    printf 'License: MIT\n'
    sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
    sed -n '/^License: Apache-2.0$/,$p' packaging/debian/copyright | sed '1s/^/\n/'
  } | sed "s|@HOMEPAGE@|$homepage|; s|@YEAR@|$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y)|" >"$folder/copyright"
  {
    printf '%s (%s) unstable; urgency=medium\n\n' "$package" "$version"
    printf '  * Built from the source of this version; changelog.gz says what users notice.\n\n'
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date --utc --date "@$SOURCE_DATE_EPOCH" -R)"
  } >"$work/changelog"
  gzipped "$work/changelog" "$folder/changelog.Debian.gz"
  gzipped CHANGELOG.md "$folder/changelog.gz"
  [ ! -e "packaging/debian/$package.lintian-overrides" ] ||
    put 644 "packaging/debian/$package.lintian-overrides" "$2/usr/share/lintian/overrides/$package"
}

# Control files, checksums and the archive. $1: package, $2: its tree.
pack() {
  local package=$1 tree=$2 size
  find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
  mkdir -p "$tree/DEBIAN"
  size=$(du --summarize --apparent-size --block-size=1024 "$tree" | cut -f 1)
  sed -n "/^Package: $package\$/,/^\$/p" packaging/debian/control | sed -e '/^$/d' -e "s|@VERSION@|$version|g" \
    -e "s|@ARCHITECTURE@|$arch|; s|@MAINTAINER@|$maintainer|; s|@SIZE@|$size|; s|@HOMEPAGE@|$homepage|" \
    -e "s|@SHARED@|${3:-}|" >"$tree/DEBIAN/control"
  (cd "$tree" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | sort -z |
    xargs -0 md5sum >DEBIAN/md5sums)
  (cd "$tree" && find . -type f -path './etc/*' -printf '/%P\n' | sort) >"$work/conffiles"
  [ ! -s "$work/conffiles" ] || cp "$work/conffiles" "$tree/DEBIAN/conffiles"
  for script in preinst postinst prerm postrm config; do
    [ ! -e "packaging/debian/$package.$script" ] || put 755 "packaging/debian/$package.$script" "$tree/DEBIAN/$script"
  done
  [ ! -e "packaging/debian/$package.templates" ] ||
    put 644 "packaging/debian/$package.templates" "$tree/DEBIAN/templates"
  chmod -R u=rwX,go=rX "$tree"
  local architecture
  architecture=$(sed -n 's/^Architecture: //p' "$tree/DEBIAN/control")
  mkdir -p "$out"
  dpkg-deb --root-owner-group "${compression[@]}" --build "$tree" "$out/${package}_${version}_$architecture.deb"
}

main_tree=$work/ironbark
slapd_tree=$work/ironbark-slapd
scripts/packages/man.py "$run" "$work/man" "$day"

put 755 "$binary" "$main_tree/usr/bin/ironbark"
"$strip" --strip-all --remove-section=.comment "$main_tree/usr/bin/ironbark"
for page in "$work"/man/man1/*; do gzipped "$page" "$main_tree/usr/share/man/man1/$(basename "$page").gz"; done
for file in schema/*.schema schema/*.ldif; do put 644 "$file" "$main_tree/usr/share/ironbark/$file"; done
for program in slapd-settings.sh slapd-service slapd-takeover slapd-dump; do
  put 755 "packaging/debian/$program" "$main_tree/usr/lib/ironbark/$program"
done
chmod 644 "$main_tree/usr/lib/ironbark/slapd-settings.sh"
documents ironbark "$main_tree"
for file in README.md SECURITY.md ARCHITECTURE.md; do gzipped "$file" "$main_tree/usr/share/doc/ironbark/$file.gz"; done
(cd docs && find . -name '*.md' -printf '%P\n') | while read -r file; do
  put 644 "docs/$file" "$main_tree/usr/share/doc/ironbark/docs/$file"
done
scripts/packages/third_party.py --target "$triple" >"$work/third-party"
gzipped "$work/third-party" "$main_tree/usr/share/doc/ironbark/third-party-licences.gz"
pack ironbark "$main_tree" "$(shared "$binary")"

for tool in slapd slapacl slapadd slapauth slapcat slapdn slapindex slapmodify slappasswd slapschema slaptest; do
  mkdir -p "$slapd_tree/usr/sbin"
  ln -s ../bin/ironbark "$slapd_tree/usr/sbin/$tool"
done
for page in "$work"/man/man8/*; do gzipped "$page" "$slapd_tree/usr/share/man/man8/$(basename "$page").gz"; done
put 644 packaging/debian/slapd.service "$slapd_tree/lib/systemd/system/slapd.service"
# Otherwise the init script is a second unit for the same server.
ln -s slapd.service "$slapd_tree/lib/systemd/system/ironbark-slapd.service"
put 644 packaging/debian/slapd.socket "$slapd_tree/lib/systemd/system/slapd.socket"
put 755 packaging/debian/ironbark-slapd.init "$slapd_tree/etc/init.d/ironbark-slapd"
put 644 packaging/debian/apparmor "$slapd_tree/etc/apparmor.d/ironbark-slapd"
put 644 packaging/debian/logrotate "$slapd_tree/etc/logrotate.d/ironbark-slapd"
put 644 packaging/debian/default "$slapd_tree/usr/share/ironbark-slapd/default"
put 644 packaging/debian/init.ldif "$slapd_tree/usr/share/ironbark-slapd/init.ldif"
documents ironbark-slapd "$slapd_tree"
pack ironbark-slapd "$slapd_tree"
