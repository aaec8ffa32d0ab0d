#!/usr/bin/env bash
# bench.sh compares Kith with its peers, measures every tool on SQLite and PostgreSQL, and
# compares requests with and without single features. It prints the ratios, and writes them with
# their aims and tables into deploy/docs/performance.md and the folder beside it.
#
#   KITH_BENCH_ROUNDS   number of rounds; default 9
#   KITH_BENCH_FOR      how long a target is measured in a round; default 1s
#   KITH_BENCH_ONLY     regular expression of sections: peers, typos, tools, tails, directory, start, ratio-…, each followed by
#                       -sqlite or -postgres; default all of these. Others run only if they are named: soak, placement, many, overload
#   KITH_BENCH_ROW      regular expression of the rows of the section of tools; default all
#   KITH_BENCH_SIZES    sizes of the network in the section of tools; default 100,1000,10000,100000
#   KITH_BENCH_PROFILES a folder for processor profiles; default none
#   KITH_BENCH_SOAK     how long the section soak keeps a service busy; default 30m
#   KITH_BENCH_MEMBERS  number of members in the section many; default 100000
#   KITH_OVERLOAD_FOR   how long each part of the section overload lasts; default 1m
#   KITH_BENCH_PAGE     the page to write; empty for none
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "building" >&2
make -C "$root" --no-print-directory build OUT="$work/kith" # the program as it is released
make -C "$root" --no-print-directory build OUT="$work/kith-unobserved" TAGS=unobserved
mkdir "$work/peers"
cd "$here"
GOWORK=off go build -o "$work/bench" ./bench
only=${KITH_BENCH_ONLY:-^(peers|typos|tools|tails|directory|start|ratio)}
if [[ peers-sqlite =~ $only || typos-sqlite =~ $only ]]; then
  for peer in peers/*/main.go; do # a peer that cannot be built is reported as missing
    GOWORK=off go build -o "$work/peers/" "./${peer%/main.go}" || echo "cannot build ${peer%/main.go}" >&2
  done
  npm ci --prefix peers/oidcprovider --no-audit --no-fund --ignore-scripts >&2 || echo "cannot install oidc-provider" >&2
fi

for policy in PROFILE DIRECTORY BATCH MCP MCP_SANDBOX JOBS OAUTH_REGISTER OAUTH_AUTHORIZE OAUTH_TOKEN LOGIN IDENTITY SETTINGS FORMS; do export KITH_RATE_$policy=off; done
export KITH_LOG_LEVEL=warn KITH_MAX_IN_FLIGHT=-1 KITH_SERVICE_TOKEN=0123456789abcdef-bench KITH_CREDITS_FREE=1000000000
export KITH_TEST_CHROMIUM=${KITH_TEST_CHROMIUM:-none}
"$root/deploy/e2e/with-services.sh" bash -c 'exec "$0" -postgres "$KITH_TEST_POSTGRES_URL" "$@"' "$work/bench" \
  -kith "$work/kith" -unobserved "$work/kith-unobserved" -root "$root" -peers "$work/peers" -work "$work" \
  -rounds "${KITH_BENCH_ROUNDS:-9}" -for "${KITH_BENCH_FOR:-1s}" -only "$only" -row "${KITH_BENCH_ROW:-.}" \
  -sizes "${KITH_BENCH_SIZES:-100,1000,10000,100000}" -profiles "${KITH_BENCH_PROFILES:-}" -soak "${KITH_BENCH_SOAK:-30m}" \
  -members "${KITH_BENCH_MEMBERS:-100000}" -overload "${KITH_OVERLOAD_FOR:-1m}" -page "${KITH_BENCH_PAGE-$root/deploy/docs/performance.md}"
