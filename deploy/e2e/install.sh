#!/usr/bin/env bash
# install.sh PROGRAM...: installs those programs from Debian's packages that are
# missing.
set -euo pipefail

declare -A packages=(
  [postgres]="postgresql postgresql-contrib"
  [pgbackrest]=pgbackrest
  [redis-server]=redis-server
  [pgbouncer]=pgbouncer
  [patroni]=patroni
  [etcd]=etcd-server
  [haproxy]=haproxy
  [redis-sentinel]=redis-sentinel
  [faketime]=faketime
  [promtool]=prometheus
  [prometheus-alertmanager]=prometheus-alertmanager
  [chromium]=chromium
  [jq]=jq
  [systemd-analyze]=systemd
  [caddy]=caddy
  [xz]=xz-utils
  [minisign]=minisign
  [dpkg-deb]=dpkg
  [lintian]=lintian
  [umoci]=umoci
  [mmdebstrap]=mmdebstrap
  [vdirsyncer]=vdirsyncer
  [radicale]=radicale
  [xandikos]=xandikos
  [khard]=khard
  [khal]=khal
)

present() {
  if [ "$1" = postgres ]; then # not in the path
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
  else
    PATH=$PATH:/usr/sbin command -v "$1" >/dev/null
  fi
}

missing=()
for program in "$@"; do
  present "$program" || missing+=(${packages[$program]})
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]} from Debian's packages" >&2
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >&2
fi
