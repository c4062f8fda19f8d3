#!/usr/bin/env bash
# The proof ladder on one GPU with the machine's own python3, then again with faults put in.
# Needs .gpu/site, .gpu/packages and .gpu/cuda12 (tools/gpu/verify_site.py); writes into $OUT, within
# 260 s. Some rungs again: LIMIT=40 verify.sh --seconds 35 --only dot-fp16 spectral
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
timeout "${LIMIT:-260}" python3 tools/gpu/verify.py --out "${OUT:-.}" "$@"
