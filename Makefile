# The verbs. `make help` lists them; each prints the commands it runs.
PRESET ?= cpu
BUILD  := build/$(PRESET)
CCACHE := $(shell command -v ccache 2>/dev/null)
CMAKE_FLAGS += $(if $(CCACHE),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

.PHONY: help setup build unit test lint fmt clean
help:   ## this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /\t/' | expand -t 10

setup:  ## install the packages that building and testing need
	tools/install_packages.sh

build: setup ## build the program: build/hearth
	cmake --preset $(PRESET) $(CMAKE_FLAGS)
	cmake --build $(BUILD)
	ln -sf $(PRESET)/hearth build/hearth

unit: build ## unit and property tests
	ctest --test-dir $(BUILD) --output-on-failure

test: unit ## everything that a clean clone must pass

clean:  ## remove the build folders
	rm -rf build
