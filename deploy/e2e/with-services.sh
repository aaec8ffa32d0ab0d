#!/usr/bin/env bash
# with-services.sh COMMAND...: runs the command with a PostgreSQL, a PgBouncer before it
# and a Redis of its own, and ends them afterwards. What is missing is installed from
# Debian's packages, Chromium, pgbackrest, promtool, Alertmanager, systemd, Caddy, jq, vdirsyncer, khard, khal, Radicale and Xandikos too.
#
# The command finds the servers in KITH_TEST_POSTGRES_URL (a superuser's address),
# KITH_TEST_PGBOUNCER_URL and KITH_TEST_REDIS_URL, and the browser in KITH_TEST_CHROMIUM, which may name
# another one than Debian's.
set -euo pipefail

wanted=(postgres pgbouncer pgbackrest redis-server promtool prometheus-alertmanager systemd-analyze caddy jq vdirsyncer khard khal radicale xandikos)
[ -n "${KITH_TEST_CHROMIUM:-}" ] || wanted+=(chromium)
"$(dirname "$0")/install.sh" "${wanted[@]}"
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
KITH_TEST_CHROMIUM=${KITH_TEST_CHROMIUM:-$(command -v chromium)}
export KITH_TEST_CHROMIUM

data=$(mktemp -d)
run=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
  chown postgres "$data"
  run=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
free_port() {
  python3 - <<'PY' 2>/dev/null || echo $((20000 + RANDOM % 20000))
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])
PY
}
port=$(free_port)

redis=
pooler=
stop() {
  if [ -n "$pooler" ]; then
    kill "$pooler" 2>/dev/null || true
    wait "$pooler" 2>/dev/null || true
  fi
  if [ -n "$redis" ]; then
    kill "$redis" 2>/dev/null || true
    wait "$redis" 2>/dev/null || true
  fi
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

# Few server connections, so that each is used by many clients.
pooled=$(free_port)
printf '"kith" ""\n' >"$data/pooler-users"
cat >"$data/pooler.ini" <<INI
[databases]
* = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooled
unix_socket_dir =
auth_type = trust
auth_file = $data/pooler-users
pool_mode = transaction
default_pool_size = 3
max_client_conn = 1000
INI
"${run[@]}" /usr/sbin/pgbouncer -q "$data/pooler.ini" 2>"$data/pooler.log" &
pooler=$!
export KITH_TEST_PGBOUNCER_URL="postgres://kith@127.0.0.1:$pooled/postgres?sslmode=disable&pool_mode=transaction"

port=$(free_port)
redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$data" >"$data/redis.log" 2>&1 &
redis=$!
until redis-cli -p "$port" ping >/dev/null 2>&1; do
  kill -0 "$redis" 2>/dev/null || { cat "$data/redis.log" >&2; exit 1; }
  sleep 0.1
done
export KITH_TEST_REDIS_URL="redis://127.0.0.1:$port/0"
"$@"
