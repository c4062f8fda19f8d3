#!/usr/bin/env bash
# Every arm of the byte model at two seeds on one GPU; the corpus' archive lies in .gpu/.
# With --rehearse: a few runs of few steps, one process and several, to choose their number.
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
out=${OUT:-.}

arms() {
    timeout 215 python3 tools/spectral_lm.py arms --corpus .gpu --device cuda "$@"
}

if [ "${1:-}" = --rehearse ]; then
    for processes in 1 4; do
        date +%T
        arms --arms embedding reim taps source --seeds 0 --steps 150 --seconds 40 \
            --processes "$processes" --out "$out/rehearsal-$processes.json"
    done
    date +%T
else
    arms --seeds 0 1 --processes "${PROCESSES:-4}" --seconds "${SECONDS_GIVEN:-195}" \
        --out "$out/spectral-arms.json"
fi
