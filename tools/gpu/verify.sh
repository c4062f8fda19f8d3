#!/usr/bin/env bash
# The proof ladder on one GPU with the machine's own python3, then rungs with seeded faults.
# Needs .gpu/site, .gpu/packages and .gpu/cuda12 (tools/gpu/fetch.py verify); writes ladder.json, .md and
# .html into $OUT, within 260 s. Some rungs again, without faults: LIMIT=40 verify.sh --only dot-fp16
set -uo pipefail
cd "$(dirname "$0")/../.."
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
python=$(command -v python3) out=${OUT:-.} limit=${LIMIT:-180} home=$(mktemp -d)
LD_LIBRARY_PATH="$PWD/.gpu/cuda12/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  PYTHONPATH="$PWD/.gpu/packages" TRITONWIN_HOME="$home" timeout -s INT -k 30 "$limit" "$python" -c "
import sys
sys.path[:0] = ['$PWD/src', '$PWD/.gpu/site']
from tritonwin.__main__ import main
sys.exit(main())" verify --python "$python" --rung-timeout "$((limit * 9 / 10))" \
  --report "$out/ladder.json" --report "$out/ladder.md" --report "$out/ladder.html" "$@"
status=$?
[ $# -gt 0 ] || PYTHONPATH="$PWD/.gpu/site" timeout 100 "$python" -m pytest -c /dev/null --noconftest \
  -p no:cacheprovider tests/gpu/test_verify.py | tee "$out/faults.txt" || status=1
exit "$status"
