.DEFAULT_GOAL := help
.PHONY: help run test test-servers interop page soak fuzz bench meter mutants mistakes gates deny package dist test-dist deploy gates-record fmt lint lint-alone doc clean
BIN := $(or $(CARGO_TARGET_DIR),target)/release
COMPONENTS := cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1
export URL VALKEY_URL
# Incremental builds make a first one a seventh slower.
export CARGO_INCREMENTAL ?= 0

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## */\1	/p' $(firstword $(MAKEFILE_LIST)) | while IFS='	' read -r name what; do printf '  make %-13s %s\n' "$$name" "$$what"; done
run:   ## start a proxy and private MariaDB and Valkey servers and demo the clients; on yours: make run URL=mysql://... VALKEY_URL=redis://...
	cargo build --release -p onecopy -p onecopy-testkit --bins
	@$(if $(URL)$(VALKEY_URL),$(BIN)/onecopy tour $(if $(URL),--url "$$URL") $(if $(VALKEY_URL),--valkey-url "$$VALKEY_URL"),\
	$(BIN)/with-server --mysql --valkey --pair -- $(BIN)/onecopy tour --url {URL} --valkey-url {VALKEY_URL} --pair {PRIMARY_URL} {REPLICA_URL})
test: lint  ## run the tests on private servers; also checks format, lints, documentation and dependencies
	@crates/testkit/test.sh
test-servers: ## run the server tests on MySQL 9.7, MariaDB 11.8 and Valkey 8.1, fetched into target/servers
	crates/testkit/servers.py test
interop: ## run real programs and other projects' test suites through the proxy and beside it; interop/README.md says which
	@status=0; interop/run.py || status=1; interop/suites.py || status=1; exit $$status
page:  ## look at the proxy's live page in a headless Chromium beside a load; needs chromium and sysbench
	cargo build --release -p onecopy -p onecopy-testkit --bins
	$(BIN)/with-server --mysql -- interop/page.py
soak: meter ## run the tests with gigabytes, millions of operations and minutes, and make meter; needs valgrind
	ONECOPY_SOAK=1 cargo test --release --workspace --all-features
fuzz:  ## run each fuzz target for five minutes, or so many seconds: make fuzz TIME=60; needs nightly and cargo-fuzz
	fuzz/run.sh $(or $(TIME),300) $(TARGETS)
bench: ## time the hot paths in memory
	cargo run --release --quiet -p onecopy-gates -- time
meter: ## compare the copy counters with valgrind; needs valgrind
	@command -v valgrind >/dev/null || { echo "valgrind is missing; install the package valgrind" >&2; exit 1; }
	bench/meter.py
gates: ## count instructions, allocations and copies of the hot paths, and fail if they are worse than recorded; needs valgrind
	@command -v valgrind >/dev/null || { echo "valgrind is missing; install the package valgrind" >&2; exit 1; }
	cargo run --profile gates --quiet -p onecopy-gates -- check
deny:  ## check licences, sources and known vulnerabilities of all dependencies; needs cargo-deny
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is missing; type: cargo install cargo-deny --locked" >&2; exit 1; }
	@if cargo deny --all-features fetch db 2>/dev/null; then checks=; \
	else echo "NOT RUN: known vulnerabilities; their database could not be fetched from github.com" >&2; checks="bans licenses sources"; fi; \
	cargo deny --log-level error --all-features check --hide-inclusion-graph $$checks
package: ## make the packages for crates.io in target/package, and build each of them separately
	cargo package --workspace --exclude onecopy-fuzz --exclude onecopy-gates --exclude onecopy-guide --exclude onecopy-testkit
dist:  ## make the .deb, the .rpm and the OCI image in target/packages; needs dpkg-dev, rpm and umoci; some of them: make dist KINDS="deb rpm"
	dist/build.py $(KINDS)
test-dist: ## install the packages in fresh roots and run them, and query the dashboard with a real Prometheus; dist/README.md says what it needs
	dist/test.py $(PARTS)
deploy: ## write the dashboard and the alert rules in deploy/, from the list of metrics, and the manifests; needs helm
	deploy/generate.py
gates-record: ## record these counts, in docs/benchmarks/gates.json and gates.md
	cargo run --profile gates --quiet -p onecopy-gates -- record
mutants: ## change the code of a crate in 100 places and check that a test fails each time; needs cargo-mutants
	crates/testkit/mutants.sh $(CRATES)
mistakes: ## make the proxy forget one state at a time and check that a mirror finds it
	crates/proxy/tests/mirror/mistakes.py
fmt:   ## format the code
	cargo fmt --all
lint:  ## check the format, and clippy without a warning
	@$(COMPONENTS) || { echo "rustfmt or clippy is missing; type: rustup component add rustfmt clippy" >&2; exit 1; }
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
lint-alone: ## clippy of each library alone, as those who depend on it build it: the workspace's others turn features on
	@for crate in wire mysql-proto net pool derive mysql resp-proto valkey-macros valkey; do \
	    echo "cargo clippy -p onecopy-$$crate --no-default-features -- -D warnings"; \
	    cargo clippy --quiet -p onecopy-$$crate --no-default-features -- -D warnings || exit; \
	done
	cargo clippy -p onecopy-mysql-proto --no-default-features --features compression -- -D warnings
doc:   ## build the documentation without a warning
	RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --workspace --all-features
clean: ## remove what was built, and the servers of test-servers
	cargo clean
