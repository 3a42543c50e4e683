# The verbs. `make help` lists them; each prints the commands it runs.
PRESET ?= cpu
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
PORT   ?= 8000
FUZZ_SECONDS ?= 600
CCACHE := $(shell command -v ccache 2>/dev/null)
CMAKE_FLAGS += $(if $(CCACHE),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
PYTHON := .venv/bin/python
OURS   := $(shell git ls-files --cached --others --exclude-standard -- 'src/*.h' 'src/*.cpp' 'tests/*.cpp' 2>/dev/null)

.PHONY: help setup build all unit test golden e2e models asan tsan run gpu fuzz bench fmt lint docs clean
help:   ## this list
	@grep -E '^[a-z0-9]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup:  ## install the packages that building and testing need
	tools/install_packages.sh

build: setup ## build the program: build/hearth
	cmake --preset $(PRESET) $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target hearth
	$(if $(filter debug tsan,$(PRESET)),,ln -sfn $(PRESET)/hearth build/hearth)

.venv/stamp: tests/e2e/requirements.txt
	python3 -m venv .venv
	$(PYTHON) -m pip install -q --disable-pip-version-check -r $<
	touch $@

models: .venv/stamp ## fetch the models that the tests use
	$(PYTHON) tools/fetch_models.py

all: build ## the program and every test program
	cmake --build $(BUILD) -j $(JOBS)

unit: all ## unit and property tests
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

golden: all ## the unit tests that compare with the values of the official code
	ctest --test-dir $(BUILD) --output-on-failure -R 'unit\.(text|models|backend|checkpoint|engine|cli)'

e2e: build models ## end-to-end tests: the real program, the official client
	HEARTH=$(BUILD)/hearth $(PYTHON) -m pytest -q tests/e2e

test: all models ## everything that a clean clone must pass
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@grep -h -B1 '^\[  SKIPPED \] .* ms)' $(BUILD)/Testing/Temporary/LastTest.log | grep -v '^--' || true
	HEARTH=$(BUILD)/hearth $(PYTHON) -m pytest -q -rs tests/e2e

asan: PRESET = debug
tsan: PRESET = tsan
asan:   ## the same under AddressSanitizer and UndefinedBehaviorSanitizer (clang)
tsan:   ## the same under ThreadSanitizer (clang)
asan tsan:
	tools/install_packages.sh clang
	$(MAKE) test PRESET=$(PRESET)

run: build .venv/stamp ## fetch the quick model and serve it on port 8000
	$(PYTHON) tools/fetch_models.py --quick
	tools/run_quick.sh $(PORT)

fuzz: setup ## run each fuzz program (clang, libFuzzer) for FUZZ_SECONDS, 600
	tools/install_packages.sh clang
	cmake --preset fuzz $(CMAKE_FLAGS)
	cmake --build build/fuzz -j $(JOBS) --target fuzz
	tools/run_fuzz.sh $(FUZZ_SECONDS)

gpu: setup ## pack the GPU tests and the libraries they need: build/gpu.tar.xz
	cmake --preset $(PRESET) $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target hearth backend_cuda_test cli_test
	tools/pack_gpu.sh $(BUILD) build/gpu

bench: build ## speed of the quick model on this machine
	build/hearth bench engine "$$($(PYTHON) tools/fetch_models.py --print)/SmolLM2-135M-Instruct.Q4_1.gguf"

fmt:    ## format our code
	clang-format -i $(OURS)

lint: build ## rooms, format, option table, words, generated documents
	tools/install_packages.sh clang-format
	python3 tools/check_rooms.py
	clang-format --dry-run -Werror $(OURS)
	python3 tools/check_tree.py build/hearth

docs: build ## write docs/generated and the tables made from code
	build/hearth docs flags > docs/generated/flags.md
	build/hearth docs launch-lines > docs/howto/launch-lines.md

clean:  ## remove the build folders
	rm -rf build
