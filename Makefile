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

.PHONY: run
run: ## Run all of Kith in one process, data in ./kith-data
	@mkdir -p .tmp/bin && (cd deploy && go build -o $(BIN)/kith ./cmd/kith)
	@exec $(BIN)/kith serve

.PHONY: gen
gen: $(BIN)/.tools proto/third_party/.fetched ## Generate Go, schemas and the tool catalogue from the contract
	$(BIN)/buf generate
	$(BIN)/buf generate --template proto/tools/schema.gen.yaml
	$(BIN)/buf build --as-file-descriptor-set -o .tmp/contract.binpb
	cd proto && go run ./internal/generate/cmd/catalog ../.tmp/contract.binpb ../.tmp/schema catalog/catalog.json

$(BIN)/.tools: $(TOOLS)
	mkdir -p $(BIN) && cd proto/tools && GOWORK=off go build -o $(BIN) tool && touch $@

# validate.proto comes from the module cache and is never committed.
proto/third_party/.fetched: Makefile
	dir=$$(go mod download -json $(VALIDATE_PROTO) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && \
	install -D -m 0644 "$$dir/proto/protovalidate/buf/validate/validate.proto" \
		proto/third_party/protovalidate/buf/validate/validate.proto && touch $@
