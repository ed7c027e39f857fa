#!/bin/sh
# Builds the fuzzers of the readers with clang and runs them one after another:
#   tests/fuzz/run.sh [seconds each] [reader...]
# Objects, corpora and crashes stay under build/fuzz/. What a crash taught lies in seeds/<reader>/.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
telemetry="number ncu_csv ncu_text ncu_source nsys_csv nsys_sqlite sass profile_json"
readers=${*:-plans $telemetry}
out=$root/build/fuzz
clang=$(command -v clang++ || command -v clang++-14)
cuda=${CUDA_HOME:-/usr/local/cuda}/include
[ -e "$cuda/cuda.h" ] || cuda=$root/.venv/lib/python3.11/site-packages/nvidia/cu13/include
mkdir -p "$out/objects"
cd "$out"

# One header for what every source reads, built once: most of the time goes there.
flags="-std=c++20 -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
  -DFMT_HEADER_ONLY=1 -DTOML_HEADER_ONLY=1 -I$root/src -isystem $cuda"
headers=$(find "$root/src" -name '*.h' -newer common.h.pch 2>/dev/null || echo none)
if [ ! -e common.h.pch ] || [ -n "$headers" ]; then
  rm -f objects/*
  printf '#include <fmt/format.h>\n#include "profile/collect.h"\n#include "profile/read.h"\n' > common.h
  "$clang" $flags -x c++-header common.h -o common.h.pch
fi
export clang flags
ls "$root"/src/profile/*.cc "$root"/src/candidate/*.cc "$root"/src/task/*.cc \
   "$root"/src/base/text.cc "$root"/src/base/json.cc "$root"/src/base/files.cc \
   "$root"/src/base/hash.cc "$root"/src/base/half.cc "$root"/src/base/process.cc \
   "$root"/src/device/info.cc "$root"/src/build/toolkit.cc \
   "$root"/tests/fuzz/readers.cc "$root"/tests/fuzz/telemetry.cc | grep -v _test.cc |
  xargs -P "$(nproc)" -I{} sh -c '
    object=objects/$(echo "{}" | sed "s|.*/\([^/]*/[^/]*\)$|\1|; s|/|-|").o
    if [ ! -e "$object" ] || [ "{}" -nt "$object" ]; then
      $clang $flags -include-pch common.h.pch -c "{}" -o "$object" || { rm -f "$object"; exit 255; }
    fi'
link() {  # the program, the harness that it leaves out
  "$clang" -fsanitize=fuzzer,address,undefined -o "$1" $(ls objects/*.o | grep -v "fuzz-$2") \
    -lcrypto -l:libsqlite3.a -ldl -lpthread -lm
}
link plans telemetry
link telemetry readers

# Seeds: examples and recorded files, cut to what a fuzzer can turn over.
seeds() {
  mkdir -p "corpus/$1"
  [ ! -d "$root/tests/fuzz/seeds/$1" ] || cp "$root/tests/fuzz/seeds/$1"/* "corpus/$1/"
  recorded=$root/examples/recorded
  data=$root/tests/data
  case $1 in
    plans)
      i=0
      for file in "$root"/examples/native/*/*.toml; do
        i=$((i + 1))
        { printf '\003'; sed 's/^reference = .*/reference = "k.cu"/' "$file"; } > "corpus/plans/toml$i"
      done
      for file in "$root"/examples/candidates/*.cu "$root"/examples/candidates/broken/*.cu; do
        i=$((i + 1))
        { printf '\001'; sed -n '/^\/\* plan/,/^\*\//p' "$file" | sed '1d;$d'; } > "corpus/plans/plan$i"
      done ;;
    ncu_csv)
      head -n 40 "$recorded/ncu_details.csv" > corpus/ncu_csv/details
      head -n 4 "$recorded/ncu_raw_full.csv" | cut -d, -f1-60 > corpus/ncu_csv/raw ;;
    ncu_source) head -n 12 "$recorded/ncu_source_sass.csv" > corpus/ncu_source/source ;;
    nsys_csv) cp "$data/nsys/stats.csv" corpus/nsys_csv/stats ;;
    nsys_sqlite) cp "$data/nsys/trace.sqlite" corpus/nsys_sqlite/trace ;;
    sass)
      head -n 60 "$data/sass/access_widths.nvdisasm.txt" > corpus/sass/nvdisasm
      head -n 60 "$data/sass/access_widths.cuobjdump.txt" > corpus/sass/cuobjdump ;;
  esac
}

for reader in $readers; do
  seeds "$reader"
  program=telemetry
  [ "$reader" != plans ] || program=plans
  echo "fuzz: $reader, $seconds s"
  if ! KERNELPRO_FUZZ=$reader "./$program" -max_total_time="$seconds" -max_len=20000 -timeout=20 \
      -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$out/$reader-" \
      "corpus/$reader" > "$reader.log" 2>&1; then
    tail -n 60 "$reader.log"
    echo "fuzz: $reader failed; see $out/$reader.log" >&2
    exit 1
  fi
  grep -E "number_of_executed_units|peak_rss" "$reader.log" || true
done
