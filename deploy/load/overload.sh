#!/usr/bin/env bash
# overload.sh starts a Kith and sends it four times the load that it can serve, then
# connects a thousand slow clients. KITH_OVERLOAD_FOR is the duration of each part.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
pid=
stop() { [ -z "$pid" ] || kill "$pid" 2>/dev/null || :; wait 2>/dev/null || :; rm -rf "$work"; }
trap stop EXIT
make -C "$root" --no-print-directory build OUT="$work/kith"
(cd "$root/deploy" && go build -o "$work/overload" ./load/overload)
export KITH_RATE_PROFILE=off KITH_RATE_DIRECTORY=off KITH_RATE_BATCH=off KITH_LOG_LEVEL=warn KITH_CONNECTIONS_PER_ADDRESS=-1
GOMEMLIMIT=512MiB KITH_DATABASE_URL="$work/kith.db" KITH_ADDR=127.0.0.1:18311 KITH_ADMIN_ADDR=127.0.0.1:18312 "$work/kith" serve >"$work/log" 2>&1 &
pid=$!
for _ in $(seq 100); do curl -fs http://127.0.0.1:18312/readyz >/dev/null && break; sleep 0.1; done
code=0
"$work/overload" -url http://127.0.0.1:18311 -for "${KITH_OVERLOAD_FOR:-60s}" || code=1
"$work/overload" -url http://127.0.0.1:18311 -for "${KITH_OVERLOAD_FOR:-60s}" -slow 1000 || code=1
awk '/VmHWM/ {printf "largest resident memory: %.1f MiB\n", $2/1024}' "/proc/$pid/status" || { echo "the service is gone"; code=1; }
if grep -i panic "$work/log"; then code=1; fi
exit $code
