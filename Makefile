.DEFAULT_GOAL := help
.PHONY: help run test test-servers interop soak fuzz bench meter mutants gates gates-record fmt lint doc clean
BIN := $(or $(CARGO_TARGET_DIR),target)/release
COMPONENTS := cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1
export URL VALKEY_URL

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## */  make \1	/p' $(firstword $(MAKEFILE_LIST))
run:   ## a proxy in front of a private MariaDB, then the clients there and on Valkey, or on yours: make run URL=mysql://... VALKEY_URL=redis://...
	cargo build --release -p onecopy -p onecopy-testkit --bins
	@$(if $(URL)$(VALKEY_URL),$(BIN)/onecopy tour $(if $(URL),--url "$$URL") $(if $(VALKEY_URL),--valkey-url "$$VALKEY_URL"),\
	$(BIN)/with-server --mysql --valkey -- $(BIN)/onecopy tour --url {URL} --valkey-url {VALKEY_URL})
test: lint  ## check everything: format, lints, tests on private servers, documentation
	cargo test --workspace --all-features
	$(MAKE) doc
	@if command -v valgrind >/dev/null; then $(MAKE) gates; else echo "NOT RUN: make gates; install the package valgrind" >&2; fi
test-servers: ## run the tests that talk to a server on newer ones, fetched into target/servers; CONTRIBUTING.md says more
	crates/testkit/servers.py test
interop: ## run real programs and other projects' test suites through the proxy and beside it; interop/README.md says which
	@status=0; interop/run.py || status=1; interop/suites.py || status=1; exit $$status
soak: meter ## run the tests with the large counts, gigabytes, millions, minutes, and hold the meter; needs valgrind
	ONECOPY_SOAK=1 cargo test --release --workspace --all-features
fuzz:  ## run each fuzz target for five minutes, or so many seconds: make fuzz TIME=60; needs nightly and cargo-fuzz
	fuzz/run.sh $(or $(TIME),300) $(TARGETS)
bench: ## time the hot paths in memory
	cargo run --release --quiet -p onecopy-gates -- time
meter: ## hold the meter against the copies that valgrind counts; needs valgrind
	@command -v valgrind >/dev/null || { echo "valgrind is missing; install the package valgrind" >&2; exit 1; }
	bench/meter.py
gates: ## count instructions, allocations and copies of the hot paths, and fail where they are worse than recorded; needs valgrind
	cargo run --release --quiet -p onecopy-gates -- check
gates-record: ## record these counts, in docs/benchmarks/gates.json and gates.md
	cargo run --release --quiet -p onecopy-gates -- record
mutants: ## change the code of a crate in 100 places and see that a test fails each time; needs cargo-mutants
	crates/testkit/mutants.sh $(CRATES)
fmt:   ## format the code
	cargo fmt --all
lint:  ## check the format, and clippy without a warning
	@$(COMPONENTS) || { echo "rustfmt or clippy is missing; type: rustup component add rustfmt clippy" >&2; exit 1; }
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	@# Each library alone, as who depends on it builds it: the workspace's others turn features on.
	@for crate in wire mysql-proto net mysql resp-proto valkey; do \
	    echo "cargo clippy -p onecopy-$$crate --no-default-features -- -D warnings"; \
	    cargo clippy --quiet -p onecopy-$$crate --no-default-features -- -D warnings || exit; \
	done
	cargo clippy -p onecopy-mysql-proto --no-default-features --features compression -- -D warnings
doc:   ## build the documentation without a warning
	RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --workspace --all-features
clean: ## remove what was built, and the servers of test-servers
	cargo clean
