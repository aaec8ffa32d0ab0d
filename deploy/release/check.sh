#!/usr/bin/env bash
# check.sh: makes the release of the commit twice, from two folders, and compares every byte; then tries the package in a bare
# Debian, the image, the signature and the source without a network, for this machine's processor. As root, half an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/e2e/install.sh xz minisign lintian umoci mmdebstrap
arch=$(go env GOARCH) version=0.1.0 work=$(mktemp -d)
trap 'git worktree remove --force "$work/other"; rm -rf "$work"' EXIT
git worktree add --detach "$work/other" HEAD
minisign -G -W -f -p "$work/release.pub" -s "$work/release.key" >/dev/null
export KITH_RELEASE_KEY=$work/release.key
for folder in "$PWD" "$work/other"; do
  make -C "$folder" --no-print-directory release VERSION=$version PLATFORMS="linux/$arch" DIST="$work/$(basename "$folder").dist"
done
diff -r "$work/$(basename "$PWD").dist" "$work/other.dist"
echo "Both releases are equal."

cd "$work/other.dist"
minisign -V -p ../release.pub -m SHA256SUMS
sha256sum --check --quiet SHA256SUMS
deb=kith_$version-1_$arch.deb
lintian --allow-root --fail-on error,warning "$deb"
mmdebstrap --variant=minbase --include=adduser,init-system-helpers bookworm "$work/root"
cp "$deb" "$work/root/tmp/"
chroot "$work/root" dpkg -i "/tmp/$deb"
chroot "$work/root" setpriv --reuid=kith --regid=kith --clear-groups env KITH_DATABASE_URL=/var/lib/kith/kith.db kith migrate
chroot "$work/root" dpkg --purge kith
test -e "$work/root/var/lib/kith/kith.db" # people's data stays

mkdir "$work/layout" && tar xf "kith-$version-linux-$arch.oci.tar" -C "$work/layout"
umoci unpack --image "$work/layout:$version" "$work/bundle"
chroot --userspec=65532:65532 "$work/bundle/rootfs" /kith version | grep -F "$version"

tar xf "kith-$version-source.tar.gz" -C "$work"
(cd "$work/kith-$version" && GOPROXY=off GOFLAGS=-mod=vendor unshare --net make --no-print-directory build VERSION=$version OUT="$work/from-source" \
  COMMIT="$(git -C "$work/other" rev-parse HEAD)" DATE="$(TZ=UTC git -C "$work/other" show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)")
cmp "$work/from-source" "kith-$version-linux-$arch"
echo "The package, the image, the signature and the source work."
