#!/usr/bin/env bash
# Tile plans of the encoder, then its tests on the GPU: results below $OUT.
set -uo pipefail
cd "$(dirname "$0")/../.."
python3 tests/gpu/spectral_sweep.py "$OUT" "${SECONDS_FOR_PLANS:-90}"
PYTHONPATH=src timeout 60 python3 -m pytest -c /dev/null -q -s --tb=short tests/gpu/test_spectral.py \
    2>&1 | tee "$OUT/test_spectral.txt" | tail -60
