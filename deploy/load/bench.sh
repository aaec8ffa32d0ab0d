#!/usr/bin/env bash
# bench.sh measures Kith in one run and prints the results beside the aims: Kith
# beside its peers (peers.sh), and single features beside the same request without
# them (ratios): credits, idempotency keys, large networks, many tenants, unchanged
# profiles, metrics and logs. Imports beside a bare insert, and searches of 100,000
# people, come first.
#
#   KITH_BENCH_ONLY          regular expression of rows and sections (below)
#   KITH_BENCH_ROUNDS        number of rounds; default 5
#   KITH_BENCH_PEERS         the folder of the peers and their load generator
#   KITH_TEST_POSTGRES_URL   a superuser's address, for the sections on PostgreSQL
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export root=$here/../.. peers=${KITH_BENCH_PEERS:-$here/../../../shared/bench} work=${KITH_BENCH_WORK:-$(mktemp -d)}
export rounds=${KITH_BENCH_ROUNDS:-5}
[ -x "$peers/run.sh" ] || { echo "the peers are not at $peers: set KITH_BENCH_PEERS to their folder" >&2; exit 1; }

rows='limit-fixed limit-batch20-in mcpgo-fts gosdk-fts mcpgo-list pb-view oidc-refresh
  ours-search ours-search-split ours-list ours-profile ours-batch20 ours-refresh ours-refresh-split'
ratios='ratio-304-sqlite'
for what in metered idempotency size tenants observed; do ratios="$ratios ratio-$what-sqlite ratio-$what-postgres"; done
default="^($(echo $rows $ratios limiter imports searches | tr ' ' '|'))\$"
export only=${KITH_BENCH_ONLY:-$default}
want() { for name in "$@"; do [[ $name =~ $only ]] && return 0; done; return 1; }

if want limiter; then
  echo "the rate limiter, one decision (aim in memory: 2,000 ns):"
  (cd "$root/edge" && go test ./internal/ratelimit -run '^$' -bench '^Benchmark(Memory|Redis|Headers)$' | grep '^Benchmark')
fi
if want imports; then
  echo "imports of 10,000 rows and undoing one of 20,000 (aims: of-bare 0.25 at least, peak 150 MiB at most):"
  (cd "$root/backend" && go test ./internal/importer -run '^$' -bench '^Benchmark(Import|Undo)$' -benchtime 1x -count "$rounds" | grep '^Benchmark')
fi
if want searches; then
  echo "searches of 100,000 people (aims, in processor time: by words 15 ms, semantic 20 ms, the first 2,000 ms):"
  (cd "$root/backend" && go test ./internal/search -run '^$' -bench LargeNetwork -benchtime 5x | grep '^Benchmark')
fi
want $rows $ratios || exit 0

echo "building" >&2
mkdir -p "$work/bin" "$work/req"
make -C "$root" --no-print-directory build OUT="$work/bin/kith" # the program as it is released
(cd "$peers/peers/common" && go build -o "$work/bin/genreq" ./cmd/genreq)
"$work/bin/genreq" "$work/req"
for policy in PROFILE DIRECTORY BATCH MCP MCP_SANDBOX JOBS OAUTH_REGISTER OAUTH_AUTHORIZE OAUTH_TOKEN LOGIN IDENTITY SETTINGS; do export KITH_RATE_$policy=off; done
export KITH_LOG_LEVEL=warn KITH_MAX_IN_FLIGHT=-1 KITH_SERVICE_TOKEN=0123456789abcdef-bench KITH_CREDITS_FREE=1000000000

if want $rows; then "$here/peers.sh"; fi
if want $ratios; then
  (cd "$root/deploy" && go build -o "$work/bin/ratios" ./load/ratios)
  make -C "$root" --no-print-directory build OUT="$work/bin/kith-unobserved" TAGS=unobserved
  (cd "$peers/peers/limit" && go build -o "$work/bin/limit" .)
  "$work/bin/ratios" -kith "$work/bin/kith" -work "$work" -only "$only" -rounds "$rounds" \
    -unobserved "$work/bin/kith-unobserved" -postgres "${KITH_TEST_POSTGRES_URL-}" -limit "$work/bin/limit" -limit-db "$work/req/bench.db"
fi
