# SPDX-License-Identifier: Apache-2.0
# A thin front for Meson and Ninja. `make help` lists the targets.
#
# Only the package step (scripts/setup) needs root, and asks sudo for it; everything else runs as whoever calls make.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build
NINJA := ninja -C
TESTS := auto

.DEFAULT_GOAL := build
# Set-up comes before the build, and Ninja does the rest in parallel.
.NOTPARALLEL:
.PHONY: help demo build test test-all bench install lint check-docs clean distclean setup-build setup-demo setup-test

SUITES := unit vectors integration sabotage escape fault nested soak fuzz
test test-all bench lint check-docs $(SUITES): TESTS := enabled

help:
	@sed -n 's/^##  \{0,1\}//p' Makefile

## make build        every program in build/bin, the library in build/lib
## make demo         installs what is missing, builds, runs one program behind every wall this machine offers
## make test         installs what the tests need, runs every test, ends with "N passed, N failed, N skipped"
## make test-all     the same with the large numbers (nightly)
## make bench        measures, and fills docs/benchmarks.md
## make install      PREFIX=/usr/local DESTDIR=
## make lint         clang-tidy, cppcheck, include order, banned functions
## make check-docs   runs the command blocks of docs/ and looks up every name they use
## make SUITE        one suite of tests/: unit vectors integration sabotage escape fault nested soak fuzz
## make build-VARIANT  another build beside it, in build-VARIANT: asan clang fault fault-asan fuzz
## make clean        removes the builds; make distclean also what was fetched

build: setup-build
	@scripts/configure $(BUILD) "$(PREFIX)" $(TESTS)
	@$(NINJA) $(BUILD)

setup-build setup-demo setup-test:
	@scripts/setup $(@:setup-%=%)

demo: setup-demo build
	@scripts/demo

test: setup-test build
	@tests/run

test-all: setup-test build
	@tests/run --all

bench: setup-test build
	@bench/run

.PHONY: $(SUITES)
$(SUITES): setup-test build
	@tests/run $@

lint: setup-test build
	@scripts/lint

check-docs: setup-test build
	@scripts/check-docs

# Variants: how each is configured is said in scripts/variant.
build-%: setup-test
	@scripts/variant $*

install: build
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean:
	rm -rf build build-*/

distclean: clean
	rm -rf .cache
