#!/usr/bin/env bash
# source.sh NAME DATE FILE: writes the source of the commit with the modules that it needs, as an archive that builds
# without a network: tar xf FILE && cd NAME && make build VERSION=… COMMIT=… DATE=… OUT=kith
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1 date=$2 file=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git archive --prefix="$name/" HEAD | tar x -C "$folder"
(cd "$folder/$name" && GOFLAGS= go work vendor)
tar c -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime="$date" --format=gnu "$name" | gzip -n9 >"$file"
