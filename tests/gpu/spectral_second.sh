#!/usr/bin/env bash
# Tile plans of the encoder, the best of which go into plans.toml; then its tests on the GPU. Results
# below $OUT, plans.toml among them.
set -uo pipefail
cd "$(dirname "$0")/../.."
python3 tests/gpu/spectral_sweep.py "$OUT" "${SECONDS_FOR_PLANS:-60}"
PYTHONPATH=src timeout "${SECONDS_FOR_TESTS:-70}" python3 -m pytest -c /dev/null -p no:cacheprovider \
    -n 10 -q --tb=short tests/gpu/test_spectral.py 2>&1 | tee "$OUT/test_spectral.txt" | tail -60
