#!/usr/bin/env bash
# The front ends at equal size and at equal time, on one GPU: three seeds, two texts; no run begins after
# BUDGET seconds. The archives of the texts lie in CORPUS. What benchmarks/results/ holds is not run again.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 TORCHINDUCTOR_COMPILE_THREADS=1
out=${OUT:-.}/arms.json
if [ -f benchmarks/results/arms.json ]; then
    cp benchmarks/results/arms.json "$out"
fi
python3 examples/lm.py arms --corpus "${CORPUS:-../.gpu}" --device cuda --compile --out "$out" \
    --arms embedding embedding+conv8 embedding+ngrams embedding+reim embedding+mag-linear one-kernel \
    embedding+conv8+ngrams one-kernel+conv8 one-kernel+ngrams one-kernel+conv8+ngrams \
    embedding+ngrams-4099 --equal time parameters --texts shakespeare django --seeds 0 1 2 --steps 900 \
    --untimed embedding+ngrams embedding+mag-linear embedding+reim --seconds "${BUDGET:-280}" "$@"
