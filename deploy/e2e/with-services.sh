#!/usr/bin/env bash
# with-services.sh COMMAND...: runs the command with a PostgreSQL of its own, and
# ends it afterwards. What is missing is installed from Debian's packages.
#
# The command finds the server in KITH_TEST_POSTGRES_URL (a superuser's address).
set -euo pipefail

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
  echo "installing PostgreSQL from Debian's packages" >&2
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql postgresql-contrib >&2
  bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
fi

data=$(mktemp -d)
run=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
  chown postgres "$data"
  run=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
port=$(python3 - <<'PY' 2>/dev/null || echo $((20000 + RANDOM % 20000))
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])
PY
)

stop() {
  "${run[@]}" "$bin/pg_ctl" -D "$data/db" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap stop EXIT
trap 'exit 130' INT TERM

cd "$data" # a folder that both users may enter
"${run[@]}" "$bin/initdb" -D "$data/db" -U kith --auth=trust -E UTF8 --locale=C.UTF-8 >/dev/null
# Durability is of no use to a database that is thrown away.
"${run[@]}" "$bin/pg_ctl" -D "$data/db" -w -l "$data/log" -o "-c listen_addresses=127.0.0.1 -p $port -k $data -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=300" start >/dev/null
cd "$OLDPWD"
export KITH_TEST_POSTGRES_URL="postgres://kith@127.0.0.1:$port/postgres?sslmode=disable"
"$@"
