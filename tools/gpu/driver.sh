#!/usr/bin/env bash
# Triton's driver module in Python against the compiled one, on one NVIDIA GPU with the machine's own
# python3. Needs .gpu/driver (tools/gpu/fetch.py driver); writes into $OUT, within 540 s.
#   driver.sh [cost] [first] [cases] [tests] [verify] [encoder]
set -uo pipefail
cd "$(dirname "$0")/../.."
site=$PWD/.gpu/driver out=${OUT:-.}
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4 PYTHONDONTWRITEBYTECODE=1
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee "$out/card.txt"
python3 -c 'import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)' | tee -a "$out/card.txt"
# where tests look for what the repository has
mkdir -p "$site/third_party/nvidia/backend/lib"
cp "$(python3 -c 'import triton; print(triton.__path__[0])')/backends/nvidia/lib/libdevice.10.bc" \
  "$site/third_party/nvidia/backend/lib"
compiled() { PYTHONPATH=$site/packages "$@"; }
# nothing can be compiled: CC is a program that fails
python() { CC=false TRITONWIN_DRIVER=on PYTHONPATH=$site/on:$site/packages "$@"; }
units="unit/runtime/test_launch.py unit/runtime/test_autotuner.py unit/runtime/test_cache.py
unit/runtime/test_driver.py unit/runtime/test_bindings.py unit/language/test_tuple.py
unit/language/test_random.py unit/language/test_tensor_descriptor.py unit/language/test_annotations.py
unit/language/test_block_pointer.py unit/language/test_decorator.py unit/language/test_libdevice.py
unit/language/test_standard.py unit/language/test_subprocess.py unit/language/test_warp_specialization.py
unit/runtime/test_build.py unit/runtime/test_subproc.py unit/runtime/test_specialize.py
unit/runtime/test_compilation_listener.py unit/cuda/test_libdevice.py
unit/cuda/test_mixed_io.py unit/cuda/test_tma_descriptor.py unit/cuda/test_tensor_descriptor.py
unit/language/test_core.py"
# without unit/test_debug.py: a device-side assert takes the process's context
tests() {
  cd "$site/python/test" || return
  for mode in ${MODES:-python compiled}; do
    TRITON_CACHE_DIR=/tmp/cache-tests TRITONWIN_OUTCOMES=$out/tests-$mode.txt $mode timeout -s INT -k 5 "${TESTS:-150}" \
      python3 -m pytest -p tritonwin_sample -p no:cacheprovider -q --maxfail=400 -n 14 --dist worksteal \
      $units > "$out/pytest-$mode.log" 2>&1
    tail -1 "$out/pytest-$mode.log"
  done
  cd - > /dev/null || return
  python3 tools/gpu/driver.py compare "$out/tests-compiled.txt" "$out/tests-python.txt" | tee "$out/tests.txt"
}
encoder() {
  cd encoder || return
  for mode in ${MODES:-python compiled}; do
    TRITON_CACHE_DIR=/tmp/cache-encoder TRITONWIN_OUTCOMES=$out/encoder-$mode.txt \
      $mode timeout -s INT -k 5 "${ENCODER:-100}" env PYTHONPATH="$PWD/src:$site/packages$([ $mode = python ] && echo ":$site/on")" \
      python3 -m pytest -p tritonwin_sample -c /dev/null -p no:cacheprovider -p no:benchmark -W ignore -q -n 11 \
      tests/gpu/test_encoder.py tests/gpu/test_hopper_forms.py -k "not host_time" > "$out/encoder-$mode.log" 2>&1
    tail -1 "$out/encoder-$mode.log"
  done
  cd - > /dev/null || return
  python3 tools/gpu/driver.py compare "$out/encoder-compiled.txt" "$out/encoder-python.txt" | tee "$out/encoder.txt"
}
for part in ${*:-cost first cases tests verify encoder}; do
  echo "== $part"; SECONDS=0
  case $part in
    cost) timeout 90 python3 tools/gpu/driver.py cost | tee "$out/cost.txt" ;;
    first) timeout 130 python3 tools/gpu/driver.py first "$site/on" | tee "$out/first.txt" ;;
    cases) compiled timeout 330 python3 -m pytest -c /dev/null --noconftest -p no:cacheprovider \
      tests/gpu/test_driver.py 2>&1 | tee "$out/cases.txt" ;;
    tests) tests ;;
    encoder) encoder ;;
    verify)
      export TRITON_CACHE_DIR=/tmp/cache-verify
      places=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
      before=$(ls -lR "$places" | sha256sum)
      tool() { CC=false PYTHONPATH=$PWD/src:$PWD/.gpu/site timeout "$@" --python "$(command -v python3)"; }
      tool 20 python3 -m tritonwin driver on
      tool 200 python3 -m tritonwin verify --through torch-compile-dynamic > "$out/verify.txt" 2>&1
      tail -45 "$out/verify.txt"
      # inductor launches through its own launcher, and here through Triton's
      TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER=0 tool 100 python3 -m tritonwin verify --only torch-compile \
        --only torch-compile-dynamic 2>&1 | tee "$out/verify-compile.txt"
      tool 20 python3 -m tritonwin driver off
      [ "$before" = "$(ls -lR "$places" | sha256sum)" ] && echo "site-packages as before" ;;
  esac
  echo "== $part: $SECONDS s"
done
for file in "$out"/*.txt; do
  case $file in */tests-*|*/encoder-*) ;; *) printf '## %s\n\n' "$(basename "$file" .txt)"; sed 's/^/    /' "$file"; echo ;; esac
done > "$out/results.md"
