#!/usr/bin/env bash
# The benchmark of the encoder, its tests, and the host time of a call, one after the other on one GPU,
# whatever card it is. What each part writes lies below $OUT, in a folder of its name; bench.json becomes
# benchmarks/results/bench-CARD.json.
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
part bench 60 python3 benchmarks/bench.py "$out/bench" || failed=1
part tests 180 bash -c 'pytest -n 11 --maxfail 12' || failed=1
part host 25 bash -c 'pytest -k host_time -s' || failed=1
tail -n 3 "$out/tests.log" "$out/host.log"
exit "$failed"
