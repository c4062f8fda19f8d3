#!/usr/bin/env bash
# All that is measured of the encoder on one GPU, whatever card it is, within 320 s: the benchmark and the
# hardware counters with the GPU to themselves; then the arms that benchmarks/results/ lacks beside the
# tests; then the host time of a call, alone. What each part writes lies below $OUT, in a folder of its
# name; bench.json becomes benchmarks/results/bench-CARD.json. The corpus' archive
# lies in .gpu/ of the checkout.
set -uo pipefail
cd "$(dirname "$0")/../.."
export PYTHONPATH=src PYTHONUNBUFFERED=1 OUT="${OUT:-.}"
out=$OUT end=$((SECONDS + ${LIMIT:-315}))
# part NAME SECONDS COMMAND..: in at most so many seconds, and no longer than all of this may take
part() {
    local name=$1 most=$2 left=$((end - SECONDS)) since=$SECONDS status=0
    mkdir -p "$out/$name"
    if ((left < 5)); then
        echo "$name: no time left"
        return 9
    fi
    OUT="$out/$name" timeout -k 5 $((left < most ? left : most)) "${@:3}" \
        > "$out/$name.log" 2>&1 || status=$?
    echo "$name: ended with $status after $((SECONDS - since)) s"
    return "$status"
}
pytest() {
    python3 -m pytest -c /dev/null -q --tb=short -p no:cacheprovider \
        -p no:benchmark -W ignore tests/gpu/test_encoder.py tests/gpu/test_hopper_forms.py "$@"
}
export -f pytest
failed=0
part bench 115 bash tools/gpu/bench.sh || failed=1
part counters 60 python3 tools/gpu/counters.py "$out/counters" || failed=1
BUDGET=${ARMS:-115} part arms 125 bash tools/gpu/arms.sh &
arms=$!
part tests 180 bash -c 'pytest -n 11 --maxfail 12' || failed=1
wait "$arms" || failed=1
part host 25 bash -c 'pytest -k host_time -s' || failed=1
rm -f "$out/counters/ncu.csv"
grep -hE "MISSED|FAILED" "$out/bench.log"
tail -n 3 "$out/tests.log" "$out/host.log" "$out/arms.log"
exit "$failed"
