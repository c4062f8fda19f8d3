#!/usr/bin/env bash
# Tile plans of the encoder, the best of which go into plans.toml; then its tests on the GPU. Results
# below $OUT, plans.toml among them.
set -uo pipefail
cd "$(dirname "$0")/../.."
python3 tests/gpu/spectral_sweep.py "$OUT" "${SECONDS_FOR_PLANS:-60}"
tests() {
    PYTHONPATH=src timeout "${SECONDS_FOR_TESTS:-90}" python3 -m pytest -c /dev/null -q --tb=short \
        -p no:cacheprovider -p no:benchmark tests/gpu/test_spectral.py "$@" 2>&1 |
        tee -a "$OUT/test_spectral.txt" | tail -60
}
tests -n 10 --maxfail 8
tests -k host_time -s
