#!/usr/bin/env bash
# Puts what the GPU tests need into one folder: the test programs, the program, the libraries that a machine with nothing but
# a driver may lack.     tools/pack_gpu.sh BUILD_FOLDER OUT_FOLDER
set -euo pipefail
build=$1 out=$2
rm -rf "$out"
mkdir -p "$out/lib" "$out/bin"
for program in ${PROGRAMS:-hearth backend_cuda_test cli_test}; do
  strip -o "$out/bin/$program" "$build/$program"
done
# Not libc and its kin: they must fit the machine's own loader.
ldd "$out"/bin/* | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so' | while read -r lib; do cp -L "$lib" "$out/lib/"; done
tar -C "$out" -c . | xz -T2 -2 > "$out.tar.xz"
du -sh "$out.tar.xz"
