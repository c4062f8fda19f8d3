#!/usr/bin/env bash
# The same short training on one GPU and on all of them: the same bytes are seen, so the scores must
# agree but for rounding. The corpus' archive lies in .gpu/.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src OMP_NUM_THREADS=4 PYTHONUNBUFFERED=1
out=${OUT:-.}
count=${GPUS:-$(python3 -c 'import torch; print(torch.cuda.device_count())')}
run=(examples/lm.py train --corpus ../.gpu --arm embedding+reim --steps "${STEPS:-300}"
    --device "${DEVICE:-cuda}" --eager)
timeout 90 python3 "${run[@]}" --report "$out/ddp-1.json"
timeout 90 python3 -m torch.distributed.run --standalone --nproc-per-node "$count" \
    "${run[@]}" --report "$out/ddp-$count.json"
python3 - "$out/ddp-1.json" "$out/ddp-$count.json" <<'END'
import json, sys
one, many = (json.load(open(file)) for file in sys.argv[1:])
apart = abs(one["all"] - many["all"])
print(f"{many['processes']} processes: {many['all']:.4f} bits a byte, one: {one['all']:.4f}; "
      f"{many['ms_per_step']:.1f} ms a step, one: {one['ms_per_step']:.1f}")
sys.exit(apart > 0.03)
END
