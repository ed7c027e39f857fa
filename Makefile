# The front door: `make demo` and `make test` do all the set-up on a fresh Debian 12.
.DEFAULT_GOAL := help
PRESET ?= dev
ASAN_FOLDERS := base task candidate profile
FUZZ_TIME ?= 60
FUZZ_READERS ?=
VENV := .venv
BUILD := build/$(PRESET)
APT := g++ cmake ninja-build ccache git clang-14 clang-format-14 clang-tidy-14 python3 python3-venv \
       python3-torch python3-numpy nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libfmt-dev \
       libexpected-dev libkainjow-mustache-dev libssl-dev libboost1.81-dev libsqlite3-dev libgtest-dev
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

help:
	@echo "make demo     set up, build, and run the main job (with what this machine has)"
	@echo "make test     set up, build, and run all tests that need no GPU"
	@echo "make asan     the readers' tests under the sanitizers, and 20 s of fuzzing"
	@echo "make fuzz     every reader of outside text, FUZZ_TIME=60 seconds each, under the same"
	@echo "make release  one portable binary: build/release/src/kernelpro"
	@echo "make lint     clang-format and clang-tidy over the tree"
	@echo "make format   rewrite the sources as clang-format wants them"

# Packages: asked for only when one is missing, so that a second run needs neither root nor network.
setup: $(VENV)/.done
	@missing=$$(for p in $(APT); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q "ok installed" || echo $$p; done); \
	if [ -n "$$missing" ]; then echo "Installing: $$missing"; \
	  $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi

$(VENV)/.done: requirements.txt
	@command -v python3 >/dev/null && dpkg-query -W -f='$${Status}' python3-venv 2>/dev/null | grep -q "ok installed" || \
	  { $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null; }
	/usr/bin/python3 -m venv --system-site-packages $(VENV)
	$(VENV)/bin/pip install -q --no-deps -r requirements.txt
	@touch $@

configure: setup
	cmake --preset $(PRESET) >/dev/null

build: configure
	cmake --build --preset $(PRESET)

test: build
	python3 tools/check_layers.py
	ctest --preset $(PRESET) -j 2

# The readers of outside text, under the address and undefined-behaviour sanitizers.
asan:
	$(MAKE) configure PRESET=asan
	cmake --build --preset asan --target $(ASAN_FOLDERS:%=%_tests)
	for f in $(ASAN_FOLDERS); do build/asan/src/$${f}_tests --gtest_brief=1 || exit 1; done
	tests/fuzz/run.sh 2

# Inputs that no reader has seen: seconds for each reader; FUZZ_READERS="ncu_csv sass" picks some.
fuzz: setup
	tests/fuzz/run.sh $(FUZZ_TIME) $(FUZZ_READERS)

demo: build
	@bash tools/demo.sh $(BUILD)/src/kernelpro

lint: configure
	clang-format-14 --dry-run -Werror $$(git ls-files 'src/*.cc' 'src/*.h')
	run-clang-tidy-14 -quiet -p $(BUILD) -j 2 '$(CURDIR)/src/.*\.cc$$'

format:
	clang-format-14 -i $$(git ls-files 'src/*.cc' 'src/*.h')

release:
	$(MAKE) build PRESET=release

.PHONY: help setup configure build test asan fuzz release lint format demo
