# Works with GNU make 3.81, which is the one macOS has. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run demo install uninstall build docs release mcpb test test-faults lint typecheck check bench bench-quick clean

PACKAGES := node_modules/.package-lock.json
NODE_22 := test/support/node-22/node_modules/.package-lock.json
PROGRAM := dist/main.js
SOURCES := $(shell find src installer -type f ! -name '.*') build.mjs package.json tsconfig.json tsconfig.build.json \
  $(shell find docs -type f ! -name '.*') README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

run: $(PROGRAM) ## serve: on a Mac for real, elsewhere the demo
	@node $(PROGRAM) run

demo: $(PROGRAM) ## serve a simulated Mac
	@node $(PROGRAM) demo

install: $(PROGRAM) ## on a Mac: run at every login (ARGS=--renew-runtime, --no-wait)
	@node $(PROGRAM) install $(ARGS)

uninstall: $(PROGRAM) ## remove it from this Mac (ARGS=--purge)
	@node $(PROGRAM) uninstall $(ARGS)

build: $(PROGRAM) ## compile into dist/

docs: $(PACKAGES) ## build the guide, which the service shows at /guide
	@node docs/site/build.mjs

release: $(PROGRAM) ## pack release/postern-VERSION.tgz, which npm installs without a compiler
	@node installer/packages/release.mjs

mcpb: $(PACKAGES) ## pack dist/postern.mcpb, for clients that install MCP bundles
	@node installer/mcpb/build.mjs

test: $(PROGRAM) $(NODE_22) ## run all tests
	npm test --silent

test-faults: $(PROGRAM) $(NODE_22) ## crashes, dead receivers, … (FAULTS=long: an hour)
	npm test --silent -- --runInBand --verbose test/faults

lint: $(PACKAGES) ## check style
	npm run --silent lint

typecheck: $(PACKAGES) ## check the types
	npm run --silent typecheck

check: typecheck lint ## types, style, unused code
	npm run --silent unused

bench: $(PROGRAM) ## benchmark against alternatives, into bench/RESULTS.md
	node bench/run.mjs

bench-quick: $(PROGRAM) ## the same in two minutes; writes nothing
	node bench/run.mjs --quick

clean: ## remove build output and packages
	rm -rf dist node_modules test/support/node-22/node_modules test/support/node-red/node_modules \
	  test/support/api-clients/node_modules

# npm writes this file last, so it is there only when everything is.
$(PACKAGES): package-lock.json
	@node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major * 100 + +minor < 2019 ? 1 : 0)' \
	  || { echo 'Postern needs Node 20.19 or newer, with npm: https://nodejs.org'; exit 1; }
	npm ci --no-audit --no-fund
	@touch $@

# The Node of an installed agent, for the tests that need one.
$(NODE_22): test/support/node-22/package-lock.json
	npm ci --prefix test/support/node-22 --no-audit --no-fund
	@touch $@

$(PROGRAM): $(PACKAGES) $(SOURCES)
	npm run --silent build
	@touch $@
