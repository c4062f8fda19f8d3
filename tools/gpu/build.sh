#!/usr/bin/env bash
# Build a package with `tritonwin build` on a GPU machine with the machine's own python3, and measure it.
#   build.sh flash-attn|sageattention [OPTIONS OF build]
# Needs .gpu/site and .gpu/build (tools/gpu/fetch.py verify, build). flash-attn takes 20 minutes on 16 cores.
# After INTERRUPT seconds (60) the build is interrupted once, as by Ctrl-C, and resumed; then the wheel's
# rungs are tried. $OUT gets summary.json, build.json, verify.json, verify.md and log.gz.
set -uo pipefail
cd "$(dirname "$0")/../.."
package=${1:-}; shift
case $package in
  flash-attn)
    source=(--version 2.8.3.post2)
    rungs=(--only flash-attn --only flash-attn-backward --only flash-attn-varlen --only transformers-flash) ;;
  sageattention) source=(--source .gpu/build/sageattention.tar.gz) rungs=(--only sageattention) ;;
  *) sed -n 2,6p "$0"; exit 2 ;;
esac
python=$(command -v python3) out=$(realpath -m "${OUT:-out}") && work=$out/work
rm -rf "$work" && mkdir -p "$work"
export TRITONWIN_HOME=$work/home TRITONWIN_DEBUG=1
# whoever started this may ignore SIGINT
program="
import signal, sys
sys.path[:0] = ['$PWD/src', '$PWD/.gpu/site']
signal.signal(signal.SIGINT, signal.default_int_handler)
from tritonwin.__main__ import main
sys.exit(main())"
command=("$python" -c "$program" build "$package" "${source[@]}" --find-links .gpu/build --offline --anyway
  --yes --json --python "$python" --root "$work" "$@")
SECONDS=0
timeout --foreground --preserve-status -s INT "${INTERRUPT:-60}" "${command[@]}" > "$out/build.json"
status=$?
if [ $status = 130 ]; then "${command[@]}" --resume > "$out/build.json"; status=$?; fi
whole=$SECONDS
for root in "$work/$package"-*; do
  [ -f "$root/plan.json" ] || break
  [ $status = 0 ] && "$python" -c "$program" verify --python "$root/p/bin/python" "${rungs[@]}" --json \
    --report "$out/verify.md" > "$out/verify.json"
  cat "$root"/build-*.log | gzip > "$out/log.gz"
  "$python" tools/gpu/build_figures.py "$root" "$whole" > "$out/summary.json"
  grep -v '^  ' "$out/summary.json"
done
exit "$status"
