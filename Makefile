# Works with GNU make 3.81, which is the one macOS has. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run demo fleet install uninstall build release mcpb test test-slow test-faults test-fleet test-long check bench bench-quick clean

# `make run` and `make install` need few of the packages. Where all of them are, those are used; what needs all installs
# them when only the few are there.
RUN_MARK := node_modules/.for-running
ALL_MARK := node_modules/.package-lock.json
RUN_PACKAGES := $(if $(wildcard $(ALL_MARK)),$(if $(wildcard $(RUN_MARK)),$(RUN_MARK),$(ALL_MARK)),$(RUN_MARK))
PACKAGES := $(if $(wildcard $(RUN_MARK)),node_modules/.complete,$(ALL_MARK))
PROGRAMS := test/support/programs/node_modules/.package-lock.json
PROGRAM := dist/main.js
# The program, and the types of its client.
BUILD := dist/.complete
SLOW := browser|cost|faults|fleet|install
# The faults, and every test with a long form.
TESTS = test/faults $(shell grep -rl --include='*.test.ts' --exclude-dir=node_modules --exclude-dir=faults isLong test)
SOURCES := $(shell find src installer -type f ! -name '.*') $(wildcard tools/*.*) build.mjs package.json tsconfig.json tsconfig.build.json \
  $(shell find docs -type f ! -name '.*') README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

run: $(PROGRAM) ## serve: on a Mac for real, elsewhere the demo
	@node $(PROGRAM) run

demo: $(PROGRAM) ## serve a simulated Mac
	@node $(PROGRAM) demo

fleet: $(PROGRAM) ## serve three simulated Macs behind two hubs (FLEET=3: a cluster); needs nats-server
	@node demo/fleet.mjs

install: $(PROGRAM) ## on a Mac: run at every login (ARGS=--renew-runtime, --no-wait)
	@node $(PROGRAM) install $(ARGS)

uninstall: $(PROGRAM) ## remove it from this Mac (ARGS=--purge)
	@node $(PROGRAM) uninstall $(ARGS)

build: $(BUILD) ## compile into dist/

release: $(BUILD) ## pack release/postern-VERSION.tgz, which npm installs without a compiler
	@node installer/packages/release.mjs

mcpb: $(PACKAGES) ## pack dist/postern.mcpb, for clients that install MCP bundles
	@node installer/mcpb/build.mjs

test: $(BUILD) $(PROGRAMS) ## run the tests
	npm test --silent -- --testPathIgnorePatterns /node_modules/ '/test/($(SLOW))/'

test-slow: $(BUILD) $(PROGRAMS) ## what takes longer: costs, pages in a browser, kills, installation
	npm test --silent -- -w 2 test/cost
	npm test --silent -- test/browser test/fleet test/install test/faults/kill test/faults/sends

test-faults: $(BUILD) $(PROGRAMS) ## a service that is starved, flooded and lied to
	npm test --silent -- --runInBand --testPathIgnorePatterns /node_modules/ /test/faults/fleet -- test/faults

test-fleet: $(BUILD) $(PROGRAMS) ## fleets whose parts are killed, stopped and lost, five minutes; needs nats-server
	npm test --silent -- --runInBand test/faults/fleet

test-long: $(BUILD) $(PROGRAMS) ## hours: every fault, and random tests asked far more often (TESTS=FILE)
	TEST_FORM=long npm test --silent -- --runInBand --verbose $(TESTS)

check: $(PACKAGES) $(PROGRAMS) ## types, style, unused code
	npm run --silent lint
	npm run --silent unused

bench: $(BUILD) ## benchmark against alternatives, into bench/RESULTS.md
	node bench/run.mjs

bench-quick: $(BUILD) ## the same in two minutes; writes nothing
	node bench/run.mjs --quick

clean: ## remove build output and packages
	find test/support -name node_modules -prune -exec rm -rf {} +
	rm -rf dist node_modules tools/node_modules

NODE_IS_NEW := node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major * 100 + +minor < 2019 ? 1 : 0)' \
  || { echo 'Postern needs Node 20.19 or newer, with npm: https://nodejs.org'; exit 1; }

QUIETLY := --no-audit --no-fund --no-update-notifier

# npm writes .package-lock.json last, so it is there only when everything is.
$(ALL_MARK) node_modules/.complete: package-lock.json
	@$(NODE_IS_NEW)
	npm ci $(QUIETLY)
	@touch $@

# Without the native libraries, so that nothing is compiled: SQLite is then Node's own (src/core/cli/another-node.ts).
$(RUN_MARK): package-lock.json tools/package-lock.json
	@$(NODE_IS_NEW)
	npm ci --prefix tools $(QUIETLY)
	npm ci --omit=dev --omit=optional $(QUIETLY)
	@touch $@

# Programs of others that tests drive, and what finds unused code.
$(PROGRAMS): test/support/programs/package-lock.json
	npm ci --prefix test/support/programs --ignore-scripts $(QUIETLY)
	cd test/support/programs/node_modules/bun && node install.js
	@touch $@

$(PROGRAM): $(RUN_PACKAGES) $(SOURCES)
	node build.mjs
	@touch $@

$(BUILD): $(PACKAGES) $(SOURCES)
	npm run --silent build
	@touch $(PROGRAM) $@
