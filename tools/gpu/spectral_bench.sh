#!/usr/bin/env bash
# The whole benchmark of the encoder on one GPU, within two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=4 PYTHONUNBUFFERED=1
timeout 150 python3 benchmarks/spectral.py --corpus .gpu --seconds 110 \
    --out "${OUT:-.}/spectral-bench.json" "$@"
