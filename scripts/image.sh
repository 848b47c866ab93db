#!/usr/bin/env bash
# Builds the OCI image with buildah, without a daemon: the static program, schema files, CA certificates, nothing else.
#
#   image.sh [--binary FILE] [--out FILE] [--check]
#
#   --binary  a static program (musl) that has been built before
#   --out     the archive (target/ironbark-image.tar, to be loaded by `podman load` or `skopeo copy oci-archive:...`)
#   --check   start the program from the image as the image would: another user, a read-only root; prints size and times
set -euo pipefail
cd "$(dirname "$0")/.."

binary= check=
target=$(cargo metadata --no-deps --format-version 1 --locked | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
out=$target/ironbark-image.tar
while [ $# -gt 0 ]; do
  case "$1" in
    --binary) binary=$2; shift ;;
    --out) out=$2; shift ;;
    --check) check=yes ;;
    *) sed -n '4p' "$0" >&2; exit 2 ;;
  esac
  shift
done

command -v buildah >/dev/null || { echo 'image.sh: buildah is needed (Debian: apt install buildah)' >&2; exit 2; }
machine=$(uname -m)
if [ -z "$binary" ]; then
  triple=$machine-unknown-linux-musl
  export "CC_${machine}_unknown_linux_musl=musl-gcc"
  cargo build --release --locked --package ironbark-admin --bin ironbark --target "$triple"
  binary=$target/$triple/release/ironbark
fi

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

tree=$work/tree
mkdir -p "$tree/etc/ssl/certs" "$tree/data"
install -m 755 "$binary" "$tree/ironbark"
strip --strip-all "$tree/ironbark"
cp -r schema "$tree/schema"
cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/"
printf 'root:x:0:0::/:/none\nironbark:x:10001:0::/data:/none\n' >"$tree/etc/passwd"
printf 'root:x:0:\n' >"$tree/etc/group"
# Any user of group 0 may write, as OpenShift has them; a new volume takes these rights.
chmod 2770 "$tree/data"
chmod -R go=rX "$tree/schema" "$tree/etc"
find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

# vfs and chroot need neither a kernel module nor user namespaces.
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
build=(buildah --root "$work/storage" --runroot "$work/run")
container=$("${build[@]}" from scratch)
# An archive keeps owners and the rights of /data, which a copied folder would lose.
tar --create --sort=name --numeric-owner --owner=0 --group=0 -C "$tree" --file "$work/root.tar" ironbark schema etc
tar --append --numeric-owner --owner=10001 --group=0 -C "$tree" --file "$work/root.tar" data
"${build[@]}" add --quiet "$container" "$work/root.tar" / >/dev/null
"${build[@]}" config --user 10001:0 --port 1389 --port 1636 --port 9330 --volume /data --workingdir /data \
  --entrypoint '["/ironbark","container"]' --stop-signal SIGTERM \
  --label org.opencontainers.image.title=ironbark --label "org.opencontainers.image.version=$version" \
  --label org.opencontainers.image.licenses='MIT OR Apache-2.0' "$container"
mkdir -p "$(dirname "$out")"
rm -f "$out"
"${build[@]}" commit --quiet --format oci --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci-archive:$out:ironbark:$version" >/dev/null
echo "$out"

[ -n "$check" ] || exit 0
[ "$(id -u)" = 0 ] || { echo 'image.sh: --check needs root' >&2; exit 2; }
size=$(stat --format %s "$out")
echo "archive: $((size / 1048576)) MiB; program: $(($(stat --format %s "$tree/ironbark") / 1048576)) MiB"
scripts/image-check.sh "$tree"
