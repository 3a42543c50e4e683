#!/usr/bin/env bash
# Runs the fuzz programs of build/fuzz one after another: tools/run_fuzz.sh SECONDS [PROGRAM…], by default all of them.
# Starts from tests/fuzz/PROGRAM; new inputs go to build/fuzz/corpus/PROGRAM. After a finding the others still run; exit 1.
# To take new inputs into the tree, few and small: build/fuzz/PROGRAM -merge=1 tests/fuzz/PROGRAM build/fuzz/corpus/PROGRAM
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
programs=("$@")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(find build/fuzz -maxdepth 1 -name '*_fuzz' -type f -printf '%f\n' | sort)
[ ${#programs[@]} -gt 0 ] || { echo "no fuzz programs in build/fuzz: make fuzz builds them" >&2; exit 1; }

mkdir -p build/fuzz/findings
failed=()
for name in "${programs[@]}"; do
  mkdir -p "build/fuzz/corpus/$name" "tests/fuzz/$name"
  dict=()
  [ -f "tests/fuzz/$name.dict" ] && dict=(-dict="tests/fuzz/$name.dict")
  echo "$name: $seconds seconds, log in build/fuzz/$name.log"
  if "build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 "${dict[@]}" \
    -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "tests/fuzz/$name" >"build/fuzz/$name.log" 2>&1; then
    grep -E '^#[0-9]+.*(DONE|INITED)|^Done' "build/fuzz/$name.log" | tail -2
  else
    failed+=("$name")
    grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "build/fuzz/$name.log" | head -8
  fi
done
[ ${#failed[@]} -eq 0 ] || { echo "findings: ${failed[*]}; repeat one with build/fuzz/PROGRAM build/fuzz/findings/FILE" >&2; exit 1; }
