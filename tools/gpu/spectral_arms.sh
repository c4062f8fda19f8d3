#!/usr/bin/env bash
# Every arm of the byte model at two seeds on one GPU, in less than four minutes; the corpus' archive
# lies in .gpu/. What a few steps of every kind of arm cannot do here is left out: first the graph of
# a step, then the kernels. The results say which.
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
out=${OUT:-.}
begin=$(date +%s)
budget=${BUDGET:-215}

arms() {
    timeout 225 python3 tools/spectral_lm.py arms --corpus .gpu --device cuda "$@"
}

chosen=none
for how in "" "--eager" "--eager --backend torch"; do
    # shellcheck disable=SC2086 # no word is one too
    if arms $how --arms embedding reim taps embedding+mag embedding+conv8 source centred-mag \
        --seeds 0 --steps 8 --processes 1 --seconds 60 --out "$out/spectral-trial.json"; then
        chosen=$how
        break
    fi
done
[ "$chosen" != none ] || exit 1
left=$((budget - $(date +%s) + begin))
echo "arms ${chosen:-with all there is}, $left s left"
# shellcheck disable=SC2086
arms $chosen --seeds 0 1 --processes "${PROCESSES:-4}" --seconds $((left - 15)) \
    --out "$out/spectral-arms.json"
