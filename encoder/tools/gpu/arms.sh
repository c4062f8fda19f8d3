#!/usr/bin/env bash
# Every arm of the byte model at two seeds, on all GPUs there are; the corpus' archive lies in .gpu/.
# Runs that benchmarks/results/ holds already, of the same settings on whatever card, are not run again.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
out=${OUT:-.}/arms.json
gpus=$(python3 -c 'import torch; print(torch.cuda.device_count())')
processes=${PROCESSES:-$((gpus > 1 ? 2 : 4))}
seconds=${BUDGET:-150}
if [ -f benchmarks/results/arms.json ]; then
    cp benchmarks/results/arms.json "$out"
fi
timeout $((seconds + 20)) python3 examples/lm.py arms --corpus ../.gpu --device cuda \
    --seeds 0 1 --processes "$processes" --seconds $((seconds - 15)) --out "$out"
