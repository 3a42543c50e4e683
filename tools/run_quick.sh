#!/usr/bin/env bash
# Serves the quick model, or the tiny trained checkpoint of the tests when the model could not be fetched.
#   tools/run_quick.sh [PORT]
set -euo pipefail
cd "$(dirname "$0")/.."
port=${1:-8000}
model=$(python3 tools/fetch_models.py --print)/SmolLM2-135M-Instruct.Q4_1.gguf
name=SmolLM2-135M-Instruct
if [ ! -f "$model" ]; then
  model=tests/golden/qwen3_5_dense_tiny
  name=qwen3.5-tiny
  echo "The quick model could not be fetched: serving the tiny test checkpoint $model instead. It only knows its own few conversations."
fi
(
  until curl -sf "http://127.0.0.1:$port/health" >/dev/null 2>&1; do sleep 0.2; kill -0 $$ 2>/dev/null || exit 0; done
  printf '\nopen   http://127.0.0.1:%s/\npaste  curl http://127.0.0.1:%s/v1/chat/completions -H "Content-Type: application/json" -d '"'"'{"model": "%s", "messages": [{"role": "user", "content": "What is the capital of Japan?"}], "temperature": 0}'"'"'\n\n' "$port" "$port" "$name"
) &
exec build/hearth serve "$model" --served-model-name "$name" --port "$port"
