# Every target is also a plain command; `make help` lists them.
SHELL := /bin/bash
MODULES := proto backend edge sandbox observability deploy
BIN := $(CURDIR)/.tmp/bin
TOOLS := proto/tools/go.mod proto/tools/go.sum
# The release of validate.proto that the generated Go module of proto/go.mod was made from.
VALIDATE_PROTO := github.com/bufbuild/protovalidate@v1.2.2

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# Version, commit and date of the build: the version is empty without a tag, the date is the commit's.
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null | sed 's/^v//')
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE ?= $(shell TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
STAMP = -X main.buildVersion=$(VERSION) -X main.buildCommit=$(COMMIT) -X main.buildDate=$(DATE)

.PHONY: run
run: ## Run all of Kith in one process, data in ./kith-data
	@echo 'Building Kith. The first build downloads and compiles everything, which takes minutes; it prints the name of each package.'
	@mkdir -p .tmp/bin && (cd deploy && go build -v -ldflags='$(STAMP)' -o $(BIN)/kith ./cmd/kith)
	@exec $(BIN)/kith serve

# kith.pgo is a CPU profile of the benchmark, for profile-guided optimisation; `make pgo` makes it.
OUT ?= $(BIN)/kith-release
.PHONY: build
build: ## Build the static release binary, to OUT
	cd deploy && CGO_ENABLED=0 go build -trimpath -tags='$(TAGS)' -ldflags='-s -w $(STAMP)' -pgo=load/kith.pgo -o $(OUT) ./cmd/kith

# The systems of a release. The binaries need nothing else: SQLite is in them.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/arm64 windows/amd64
DIST ?= $(CURDIR)/.tmp/release
RELEASE = $(or $(VERSION),0.0.0+$(COMMIT))
NAME = kith$(if $(VERSION),-$(VERSION))
.PHONY: release
release: $(BIN)/cyclonedx-gomod $(BIN)/release ## Make a release in DIST: binaries, Debian packages, images, source, SBOMs, signed checksums; the same commit gives the same files
	rm -rf $(DIST) && mkdir -p $(DIST)
	set -o pipefail; for p in $(PLATFORMS); do \
		file=$(NAME)-$${p%/*}-$${p#*/} && if [ $${p%/*} = windows ]; then file=$$file.exe; fi && GOOS=$${p%/*} GOARCH=$${p#*/} $(MAKE) --no-print-directory build OUT=$(DIST)/$$file && \
		$(BIN)/cyclonedx-gomod bin -json -noserial -version v$(RELEASE) $(DIST)/$$file | grep -v '^ *"timestamp":' >$(DIST)/$$file.cdx.json || exit 1; done
	mkdir -p $(BIN)/printed && $(MAKE) --no-print-directory build OUT=$(BIN)/kith-release && cd $(BIN)/printed && ../kith-release man >kith.1 && \
		for shell in bash zsh fish; do ../kith-release completion $$shell >kith.$$shell || exit 1; done
	set -e; for p in $(filter linux/%,$(PLATFORMS)); do arch=$${p#*/}; file=$(DIST)/$(NAME)-linux-$$arch; \
		set -- -version $(RELEASE) -date $(DATE) -repository $(CURDIR) -arch $$arch -binary $$file; \
		$(BIN)/release deb "$$@" -printed $(BIN)/printed -to $(DIST)/kith_$(RELEASE)-1_$$arch.deb; \
		$(BIN)/release image "$$@" -to $$file.oci.tar; done
	deploy/release/source.sh $(NAME) $(DATE) $(DIST)/$(NAME)-source.tar.gz
	$(BIN)/release sign -to $(DIST) && cat $(DIST)/SHA256SUMS

# What packs a release is a module of its own, like the benchmark.
.PHONY: release-check release-module
$(BIN)/release: $(wildcard deploy/release/*.go deploy/release/go.*)
	cd deploy/release && GOWORK=off go build -o $@ .
release-module: $(BIN)/golangci-lint ## Lint and test what packs a release: deploy/release
	deploy/e2e/install.sh xz minisign dpkg-deb lintian umoci
	cd deploy/release && GOWORK=off go mod tidy -diff && GOWORK=off $(BIN)/golangci-lint run -c ../../.golangci.yml ./... && GOWORK=off go test ./...
release-check: $(BIN)/release ## Make a release twice, in two folders, compare them, and try its package, image and source; half an hour, needs root
	deploy/release/check.sh

CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
$(BIN)/cyclonedx-gomod: Makefile
	GOBIN=$(BIN) GOWORK=off go install $(CYCLONEDX) && touch $@

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the code that is called; asks vuln.go.dev
	@mkdir -p $(BIN) && GOBIN=$(BIN) GOWORK=off go install $(GOVULNCHECK)
	for m in $(MODULES); do (cd $$m && $(BIN)/govulncheck ./...) || exit 1; done

IMAGE ?= kith
.PHONY: image
image: ## Build the container image, to IMAGE
	docker build -f deploy/Dockerfile --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' --build-arg DATE='$(DATE)' -t $(IMAGE) .

.PHONY: gen
gen: $(BIN)/.tools proto/third_party/.fetched ## Generate Go, schemas and the tool catalogue from the contract, the names of time zones and the icons
	$(BIN)/buf generate
	$(BIN)/buf build --as-file-descriptor-set -o .tmp/contract.binpb
	cd proto && go run ./internal/generate/cmd/catalog ../.tmp/contract.binpb catalog/catalog.json
	cd backend && go run ./internal/civil/cmd/zones "$$(go env GOROOT)/lib/time/zoneinfo.zip" internal/civil/zones.txt
	cd backend && go run ./internal/web/page/cmd/icons internal/web/page/assets

$(BIN)/.tools: $(TOOLS)
	mkdir -p $(BIN) && cd proto/tools && GOWORK=off go build -o $(BIN) tool && touch $@

# validate.proto comes from the module cache and is never committed.
proto/third_party/.fetched: Makefile
	dir=$$(go mod download -json $(VALIDATE_PROTO) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && \
	install -D -m 0644 "$$dir/proto/protovalidate/buf/validate/validate.proto" \
		proto/third_party/protovalidate/buf/validate/validate.proto && touch $@

GENERATED := proto/gen proto/catalog backend/internal/civil/zones.txt 'backend/internal/web/page/assets/*.png'
.PHONY: verify
verify: gen ## Fail when generated files, go.mod files or formatting are not clean
	$(BIN)/buf lint --path proto/kith
	for m in $(MODULES); do (cd $$m && go mod tidy -diff) || exit 1; done
	git diff --exit-code -- $(GENERATED)
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git status --short -- $(GENERATED); exit 1; }
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	@test -z "$$(git ls-files '*.fail' '*testdata/rapid/*')" || { git ls-files '*.fail' '*testdata/rapid/*'; exit 1; }
	@! grep -rn 'resolved' --include=package-lock.json deploy --exclude-dir=node_modules

.PHONY: lint
lint: $(BIN)/golangci-lint ## Lint every module, and what is different on Windows; build each one without the workspace
	for m in $(MODULES); do (cd $$m && $(BIN)/golangci-lint run -c ../.golangci.yml ./...) || exit 1; done
	for m in $(MODULES); do (cd $$m && GOWORK=off go build ./...) || exit 1; done
	for p in observability/disk backend/internal/db deploy/cmd/kith; do \
		(cd $$p && GOOS=windows GOARCH=amd64 $(BIN)/golangci-lint run --tests=false -c $(CURDIR)/.golangci.yml .) || exit 1; done

# Peers have many dependencies, so the benchmark is a module of its own, outside the workspace.
.PHONY: load
load: $(BIN)/golangci-lint ## Lint and test the benchmark: deploy/load
	cd deploy/load && GOWORK=off go mod tidy -diff && GOWORK=off $(BIN)/golangci-lint run -c ../../.golangci.yml ./... && GOWORK=off go test ./...

.PHONY: manifests
manifests: $(BIN)/golangci-lint ## Test the deployment files: deploy/k8s and deploy/compose
	cd deploy/manifests && GOWORK=off go mod tidy -diff && GOWORK=off $(BIN)/golangci-lint run -c ../../.golangci.yml ./... && GOWORK=off go test ./...

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
$(BIN)/golangci-lint: Makefile
	GOBIN=$(BIN) GOWORK=off go install $(GOLANGCI) && touch $@

# The race detector leaves SQLite alone, which is C translated to Go: tests are twice as fast. End-to-end tests watch
# the services that they start instead of themselves. Only two packages run at once: each starts several services, and
# with more of them calls time out on two processors. The order puts web first, which takes longest. `make lint` vets.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false

# What operations.md restores SQLite with: a test runs its commands.
LITESTREAM := github.com/benbjohnson/litestream/cmd/litestream@v0.5.18
$(BIN)/litestream: Makefile
	GOBIN=$(BIN) GOWORK=off go install $(LITESTREAM) && touch $@

# The ACME server by which TestACME gets certificates.
PEBBLE := github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.3
$(BIN)/pebble: Makefile
	GOBIN=$(BIN) GOWORK=off go install $(PEBBLE) && touch $@

.PHONY: test
test: $(BIN)/.tools $(BIN)/litestream $(BIN)/pebble deploy/e2e/node_modules/.installed ## Run every test, with the race detector, on its own databases
	deploy/e2e/with-services.sh $(MAKE) --no-print-directory -k test-inside test-columns test-outside

.PHONY: test-inside test-columns test-outside
test-inside:
	go test -vet=off -race $(UNWATCHED) -timeout 45m $$(go list work | grep -v deploy/e2e)

# An upgrade adds columns while the version before it still runs: with a further column in every table, all is as before
# but the plans that SQLite makes for the schema as it is.
test-columns:
	cd backend && KITH_TEST_EXTRA_COLUMNS=1 go test -vet=off -short ./internal/account/... ./internal/oauth/... ./internal/groups ./internal/people ./internal/timeline \
		./internal/reminders ./internal/history ./internal/job ./internal/search ./internal/importer ./internal/views ./internal/retention ./internal/integration -skip TestDeletionsReadNoMoreThanTheirs
	cd backend && KITH_TEST_EXTRA_COLUMNS=1 go test -vet=off -timeout 45m ./internal/rpc -skip Statements

test-outside:
	KITH_TEST_RACE=1 go test -vet=off -p 2 -timeout 45m $$(go list work | grep deploy/e2e | sort -r)

.PHONY: quick
quick: ## Test what differs from main and what depends on it, on SQLite
	.ci/quick

.PHONY: test-fast
test-fast: ## Run the tests that need nothing but Go
	go test -short $$(go list work | grep -v deploy/e2e)

deploy/e2e/node_modules/.installed: deploy/e2e/package-lock.json
	npm ci --prefix deploy/e2e --no-audit --no-fund --ignore-scripts && touch $@

.PHONY: e2e-ops
e2e-ops: ## Chaos test: kill and restart every process under load, and upgrade; needs an otherwise idle machine
	deploy/e2e/install.sh postgres redis-server promtool prometheus-alertmanager
	cd deploy && go test ./e2e/ops -tags ops -run TestOperations -v -count=1 -timeout 20m

.PHONY: e2e-week
e2e-week: ## An operator's week: each fault rings and ends, the service token is replaced, a backup moves; needs root
	deploy/e2e/install.sh postgres redis-server promtool prometheus-alertmanager
	cd deploy && go test ./e2e/ops -tags ops -run TestOperatorsWeek -v -count=1 -timeout 20m

# The tests that play faults of one machine, besides TestFaults.
FAULTS := TestKilledMigration|TestLostFile|TestOtherProgramsFile|TestCheckChangesNothing|TestUnwritable|TestDamagedBackup|TestRestoreWhileRunning|TestSyncEachCommit|TestSyncFails|TestSweepByAWrongClock|TestJobsAfterAWrongClock|TestReadsOnAFullDisk|TestOpenSecrets|TestStartWithoutDatabase|TestMaintain
.PHONY: e2e-faults
e2e-faults: ## The faults of one machine: power cuts, full and broken disks, kills, lost files, wrong clocks; needs root
	cd deploy && go test ./e2e/ops -tags faults -run TestFaults -v -count=1 -timeout 15m
	deploy/e2e/with-services.sh bash -c 'cd backend && go test ./server ./internal/db ./internal/integration ./internal/rpc -run "^($(FAULTS))$$" -count=1'

.PHONY: e2e-ha
e2e-ha: ## Failover test: lose hosts and connections of a cluster with standbys under load; needs root and an otherwise idle machine
	deploy/e2e/install.sh postgres patroni etcd haproxy pgbouncer redis-server redis-sentinel faketime promtool prometheus-alertmanager
	cd deploy && go test ./e2e/ops -tags ha -run TestFailover -v -count=1 -timeout 25m

.PHONY: update
update: ## Rewrite the golden files from what the code does now
	cd observability && go test . -update
	cd sandbox && go test . -update
	cd backend && go test -short ./internal/demo -run Due -update
	cd backend && go test ./internal/rpc -run StatementsPerTool -update # needs KITH_TEST_POSTGRES_URL, too
	cd backend && go test ./internal/web -run CopiedCookie/sqlite -update
	cd edge && go test ./internal/mcp ./internal/discovery ./internal/discovery/openapi -update
	cd deploy && go test ./cmd/kith -run Reference -update
	cd deploy && go test ./e2e/mcp -run '(TestTasks|TestInjectedNotes|TestWrongCalls)/sqlite' -update
	cd deploy/manifests && GOWORK=off go test . -run OperatorRules -update

.PHONY: tasks-before
tasks-before: deploy/e2e/node_modules/.installed ## Compare what an agent reads for the tasks of agents.md with the last build before answers became smaller
	deploy/e2e/mcp/before.sh

.PHONY: bench
bench: ## Measure every tool and the peers for an hour, and write deploy/docs/performance.md
	deploy/load/bench.sh

.PHONY: bench-quick
bench-quick: ## The same in a few minutes, without writing: for a first look
	KITH_BENCH_ROUNDS=3 KITH_BENCH_FOR=100ms KITH_BENCH_PAGE= KITH_BENCH_ONLY='^(peers|typos|tools|start)' deploy/load/bench.sh

.PHONY: pgo
pgo: ## Profile all tools, reads, refreshes and batches, and write deploy/load/kith.pgo
	rm -rf .tmp/profiles && mkdir -p .tmp/profiles
	KITH_BENCH_ROUNDS=3 KITH_BENCH_SIZES=10000 KITH_BENCH_ONLY='^(peers|tools)' KITH_BENCH_PROFILES=$(CURDIR)/.tmp/profiles KITH_BENCH_PAGE= deploy/load/bench.sh
	go tool pprof -proto .tmp/profiles/*.pprof >deploy/load/kith.pgo

.PHONY: soak
soak: ## Keep Kith busy with all tools for 30 minutes, and print how much its memory and files grew
	KITH_BENCH_ONLY='^soak-sqlite' KITH_BENCH_PAGE= deploy/load/bench.sh

.PHONY: bench-placement
bench-placement: ## Count the search indexes that two backends build, with a balancer and with placement
	KITH_BENCH_ONLY='^placement-postgres' KITH_BENCH_PAGE= deploy/load/bench.sh

.PHONY: bench-many
bench-many: ## Compare PostgreSQL with 100,000 members to 1,000; takes a quarter of an hour and 30 GB of disk
	KITH_BENCH_ONLY='^many-postgres' KITH_BENCH_FOR=250ms KITH_BENCH_PAGE= deploy/load/bench.sh

.PHONY: overload
overload: ## Send Kith four times the load it can serve, for a minute, with slow clients
	KITH_BENCH_ONLY='^overload' KITH_BENCH_PAGE= deploy/load/bench.sh

.PHONY: fuzz
fuzz: ## Fuzz every fuzz target for a minute each
	for m in $(MODULES); do (cd $$m && for p in $$(grep -rl '^func Fuzz' --include=*_test.go . | xargs -rn1 dirname | sort -u); do \
		for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9]+' $$p/*_test.go | sed 's/func //'); do \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done) || exit 1; done
FUZZTIME ?= 60s

.PHONY: check
check: verify lint manifests load release-module test ## What CI runs
