#!/usr/bin/env bash
# before.sh [COMMIT]: plays the tasks against the build of that commit, by default the last one before answers became
# smaller, and against this one, and prints the tokens of both.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree/kith" || true; rm -rf "$tree"' EXIT
git worktree add -q --detach "$tree/kith" "${1:-68716c57}"
(cd "$tree/kith/deploy" && go build -o "$tree/kith-before" ./cmd/kith)
KITH_TEST_BEFORE=$tree/kith-before go test -tags before -vet=off ./deploy/e2e/mcp -run TestTasksBefore -count=1 -v
