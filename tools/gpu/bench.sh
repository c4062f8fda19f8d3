#!/usr/bin/env bash
# `tritonwin bench` on a GPU with the machine's own python3: how Triton performs beside its torch.
# Needs .gpu/site (tools/gpu/fetch.py verify); writes $OUT/bench.json, within 60 s.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH="$PWD/src:$PWD/.gpu/site" PYTHONUNBUFFERED=1
python="$(command -v python3)"
out="${OUT:-.}/bench.json"
timeout 60 "$python" -m tritonwin bench --json --python "$python" "$@" > "$out" || status=$?
cat "$out"
exit "${status:-0}"
