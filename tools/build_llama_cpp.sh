#!/usr/bin/env bash
# Builds llama.cpp's llama-bench, llama-batched-bench and llama-quantize (CPU, native) from the pinned source package, to
# compare with. Nothing of it enters the tree.
#   tools/build_llama_cpp.sh DIR        binaries in DIR/bin
set -euo pipefail
dir=${1:?usage: tools/build_llama_cpp.sh DIR}
version=0.3.36
sha=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
sdist=$dir/llama_cpp_python-$version.tar.gz
if [ ! -f "$sdist" ]; then
  [ -x "$dir/venv/bin/pip" ] || python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" install -q scikit-build-core
  (cd "$dir" && venv/bin/pip download -q --no-build-isolation --no-binary :all: --no-deps "llama-cpp-python==$version")
fi
echo "$sha  $sdist" | sha256sum -c --quiet
[ -d "$dir/llama_cpp_python-$version" ] || tar -C "$dir" -xzf "$sdist"
source=$dir/llama_cpp_python-$version/vendor/llama.cpp
cmake -S "$source" -B "$dir/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_COMMIT=sdist \
  -DLLAMA_BUILD_NUMBER=0 "${@:2}" >"$dir/configure.log"
cmake --build "$dir/build" -j "${JOBS:-$(nproc)}" --target llama-bench llama-batched-bench llama-quantize >"$dir/build.log"
ln -sfn build/bin "$dir/bin"
ls -l "$dir/bin/" | awk '/llama-(bench|batched-bench|quantize)$/ {print $NF}'
