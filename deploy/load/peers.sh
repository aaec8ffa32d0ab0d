#!/usr/bin/env bash
# peers.sh measures Kith beside its peers and prints the table. bench.sh calls it.
#
# The peers and the load generator are a folder of their own, whose README says
# what each target is. Read the columns "CPU µs/r" (processor time of the server
# processes per request) and "x base".
set -euo pipefail
(cd "$root/deploy" && go build -o "$work/bin/seed" ./load/seed)
(cd "$peers/load" && go build -o "$work/bin/load" .)
pids=()
stop() { for p in "${pids[@]}"; do kill "$p" 2>/dev/null || :; done; wait 2>/dev/null || :; }
trap stop EXIT
ready() { for _ in $(seq 300); do curl -fs "http://127.0.0.1:$1/readyz" >/dev/null 2>&1 && return; sleep 0.1; done; echo "not ready: $1" >&2; exit 1; }

# The request files of the peers, in the protocol version that Kith speaks.
sed 's/"2025-11-25"/"2025-06-18"/; s/"\/mcp"/"\/mcp\/v1"/' "$work/req/mcp.jsonl" >"$work/ours-search.jsonl"
sed 's/"2025-11-25"/"2025-06-18"/; s/"\/mcp"/"\/mcp\/v1"/; s/tag_connection/update_connection/' "$work/req/list.jsonl" >"$work/ours-list.jsonl"
for i in $(seq 0 499); do
  echo "{\"method\":\"GET\",\"path\":\"/api/human/bench-$i\",\"status\":200,\"expect\":[\"bench$i@example.com\"]}"
done >"$work/ours-profile.jsonl"
for i in $(seq 0 24); do # 20 of the same profiles in one request
  items=
  for j in $(seq $((i * 20)) $((i * 20 + 19))); do items="$items,{\\\"id\\\":\\\"$j\\\",\\\"path\\\":\\\"/api/human/bench-$j\\\"}"; done
  echo "{\"method\":\"POST\",\"path\":\"/api/batch\",\"headers\":{\"Content-Type\":\"application/json\"},\"body\":\"{\\\"requests\\\":[${items#,}]}\",\"status\":200,\"counts\":[{\"s\":\"@example.com\",\"n\":20}]}"
done >"$work/ours-batch20.jsonl"

serve() { # name port admin-port backend-port
  KITH_DATABASE_URL="$work/$1.db" KITH_ADDR=127.0.0.1:$2 KITH_ADMIN_ADDR=127.0.0.1:$3 "$work/bin/kith" serve >"$work/$1.log" 2>&1 &
  pids+=($!)
  ready "$3"
}
member() {
  printf 'a long enough password' | KITH_DATABASE_URL="$work/kith.db" "$work/bin/kith" member create bench --email bench@example.com --password-stdin >/dev/null
  KITH_DATABASE_URL="$work/kith.db" "$work/bin/kith" token create bench --name seed | tail -n 1
}

rm -f "$work"/kith.db*
serve kith 18301 18302
all=${pids[-1]}
awk '/VmRSS/ {printf "RSS of kith serve with the sandbox seeded: %.1f MiB\n", $2/1024}' "/proc/$all/status"
token=$(member)
"$work/bin/seed" -peers "$work/req/bench.db" -database "$work/kith.db" -url http://127.0.0.1:18301 -token "$token" -username bench -out "$work"
cp "$work/ours-refresh.vars" "$work/ours-refresh-split.vars"
kill "$all"; wait "$all" 2>/dev/null || :

start=$(date +%s%N)
serve kith 18301 18302
all=${pids[-1]}
echo "from start to ready on an existing database: $((($(date +%s%N) - start) / 1000000)) ms (polled every 100 ms)"

# The same database behind two processes, on a copy.
for f in "$work"/kith.db*; do cp "$f" "$work/split${f#"$work/kith"}"; done
KITH_DATABASE_URL="$work/split.db" KITH_BACKEND_ADDR=127.0.0.1:18304 KITH_ADMIN_ADDR=127.0.0.1:18305 "$work/bin/kith" backend >"$work/backend.log" 2>&1 &
pids+=($!); backend=$!
ready 18305
KITH_BACKEND_URL=http://127.0.0.1:18304 KITH_ADDR=127.0.0.1:18306 KITH_ADMIN_ADDR=127.0.0.1:18307 "$work/bin/kith" edge >"$work/edge.log" 2>&1 &
pids+=($!); edge=$!
ready 18307

{
  printf 'ours-search\thttp://127.0.0.1:18301\t%s\t%s\n' "$work/ours-search.jsonl" "$all"
  printf 'ours-search-split\thttp://127.0.0.1:18306\t%s\t%s,%s\n' "$work/ours-search.jsonl" "$edge" "$backend"
  printf 'ours-list\thttp://127.0.0.1:18301\t%s\t%s\n' "$work/ours-list.jsonl" "$all"
  printf 'ours-profile\thttp://127.0.0.1:18301\t%s\t%s\n' "$work/ours-profile.jsonl" "$all"
  printf 'ours-batch20\thttp://127.0.0.1:18301\t%s\t%s\n' "$work/ours-batch20.jsonl" "$all"
  printf 'ours-refresh\thttp://127.0.0.1:18301\t%s\t%s\t%s\n' "$work/ours-refresh.jsonl" "$all" "$work/ours-refresh.vars"
  printf 'ours-refresh-split\thttp://127.0.0.1:18306\t%s\t%s,%s\t%s\n' "$work/ours-refresh.jsonl" "$edge" "$backend" "$work/ours-refresh-split.vars"
} >"$work/ours.tsv"
bash "$peers/run.sh" "$work" -r "$rounds" -o "$only" -x "$work/ours.tsv" ${KITH_BENCH_FLAGS-}
awk '/VmRSS/ {printf "RSS of kith serve after the load: %.1f MiB\n", $2/1024}' "/proc/$all/status"
