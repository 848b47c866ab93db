# The menu of the repository; `make` prints it.

.DEFAULT_GOAL := help
.PHONY: help deps record test-slapd build deb deb-arm64 tarball test-deb test-systemd image test-chart demo \
	demo-cluster bench-slapd benchmarks bench-ycsb docs paper soak fuzz test-cluster-faults deny instructions test \
	test-gssapi fmt lint tidy quick

CARGO ?= cargo

help: ## Print this menu
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

deps: ## Install what tests and benchmarks need (Debian packages, Rust components; make test does it too)
	@scripts/deps.sh test

build: ## Build the release binary target/release/ironbark, with a compiler installed if there is none
	@scripts/deps.sh build
	$(CARGO) build --release --package ironbark-admin --bin ironbark

deb: ## Build the Debian packages ironbark and ironbark-slapd into target/packages (docs/packages.md)
	@scripts/deps.sh packages
	@scripts/packages/build-deb.sh

deb-arm64: ## Build the packages for arm64 with a cross compiler, and start the program under qemu
	@scripts/deps.sh arm64
	$(CARGO) build --locked --package ironbark-admin --bin ironbark
	@scripts/packages/build-deb.sh --arch arm64 --run "$$(scripts/packages/target.sh)/debug/ironbark"
	@scripts/packages/start-arm64.sh

tarball: ## Build the tarball with the static program into target/packages
	@scripts/deps.sh tarball
	@scripts/packages/build-tarball.sh

test-deb: ## Test the Debian packages in clean systems: install, upgrade, remove, take over a slapd, go back (needs root)
	@scripts/deps.sh packages
	@scripts/test-packages.sh

test-systemd: deb ## Test the service of the packages in a container with systemd: sandbox, watchdog, socket (needs root)
	@scripts/deps.sh systemd
	@scripts/test-systemd.sh

demo: ## Say what will be done, build quickly, create a directory of 10,000 people, start the server on loopback and search it
	@scripts/demo.sh

demo-cluster: ## Start three servers and an etcd on loopback, kill some of them under load, and make a page of rate and lag
	@scripts/demo-cluster.sh

bench-slapd: deps ## Measure Ironbark beside Debian's slapd (an hour and a half; scripts/bench-slapd.sh has the settings)
	@scripts/bench-slapd.sh

docs: ## Build the documents as a site with a search, target/docs/index.html (the first time builds mdBook)
	@scripts/deps.sh docs
	@scripts/docs.py target/tools/bin/mdbook

paper: ## Run the simulation of docs/paper.md, and write its tables and charts: some minutes, the same bytes each time
	@python3 scripts/paper/simulate.py

benchmarks: build ## Make the page with plots of the tracked results of bench-slapd: target/benchmarks.html
	@scripts/bench/page.sh

bench-ycsb: ## Measure a cluster beside Cassandra with YCSB (twenty minutes; scripts/bench/ycsb.sh has the settings)
	@scripts/deps.sh ycsb
	@scripts/bench/ycsb.sh

soak: deps ## Ten minutes of mixed load with clients that misbehave: memory and file size must stay flat
	@scripts/soak.sh

MINUTES ?= 60
fuzz: deps ## Fuzz every parser, and operations beside a model, for an hour in all (MINUTES=...); scripts/fuzz.sh has the settings
	@scripts/fuzz.sh $(MINUTES)

test-cluster-faults: deps ## Faults of all kinds strike a cluster under load for an hour (MINUTES=..., SEED=...); a judge reads what clients saw
	MINUTES=$(MINUTES) $(CARGO) test --package ironbark-acceptance --locked --test all cluster::history

image: ## Build the container image target/ironbark-image.tar with buildah, without a daemon (docs/container.md)
	@scripts/deps.sh image
	@scripts/image.sh

test-chart: ## Lint and render the Helm chart and check it against the schemas of Kubernetes (needs Go, Python and the network)
	@scripts/test-chart.sh

deny: ## Check licences, bans, sources and advisories of all dependencies with cargo-deny (needs the network)
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

instructions: deps ## Count the instructions of the hot paths (callgrind) and compare them with data/instructions.txt
	@$(CARGO) xtask instructions

test: ## Run everything that a change must pass (the same as .ci/run)
	@.ci/run

record: deps ## Ask Debian's slapd again for its answers, and write them into the recordings of the tests
	rm -rf crates/acceptance/tests/recorded
	IRONBARK_SLAPD=record $(CARGO) xtask test --package acceptance

test-slapd: deps ## Compare the recorded answers of slapd with those of Debian's slapd (each night, not at each change)
	IRONBARK_SLAPD=compare $(CARGO) xtask test --package acceptance

test-gssapi: ## Build the feature gssapi and test it with a KDC (make test does not: it needs libclang and a build of its own)
	@scripts/deps.sh gssapi
	$(CARGO) test --package ironbark-acceptance --features gssapi --locked --test all clients::gssapi
	$(CARGO) test --package ironbark-client --features gssapi --locked --test all connect::gssapi

fmt: ## Format the Rust code
	$(CARGO) fmt --all

lint: ## Run clippy, warnings refused, and the rules of the house
	$(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	$(CARGO) xtask tidy

tidy: ## Run the rules of the house alone
	$(CARGO) xtask tidy

quick: ## Run format, rules, lints, and the tests of the crates that have changed: the first look, not the proof
	@$(CARGO) xtask quick
