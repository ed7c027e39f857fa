#!/bin/sh
# Builds the fuzzer of the readers with clang and runs it: tests/fuzz/run.sh [seconds].
# Corpus and crashes stay under build/fuzz/.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/fuzz
mkdir -p "$out/corpus"
cd "$out"

# Seeds: each example and each plan, with the byte in front that picks its reader.
i=0
for file in "$root"/examples/native/*/*.toml; do
  i=$((i + 1))
  { printf '\003'; sed 's/^reference = .*/reference = "k.cu"/' "$file"; } > "corpus/toml$i"
done
for file in "$root"/examples/candidates/*.cu "$root"/examples/candidates/broken/*.cu; do
  i=$((i + 1))
  { printf '\001'; sed -n '/^\/\* plan/,/^\*\//p' "$file" | sed '1d;$d'; } > "corpus/plan$i"
done
printf '\000ceil_div(N, 256) * min(B, 4) - max(1, N %% 3) / 2' > corpus/expression
printf '\001%s' '{"buffers": {"b": {"dtype": "f32", "shape": ["B", 2]}}, "tensor_maps": {"t": {"tensor": "x", "dims": [64, 8], "strides": [64], "box": [8, 8], "swizzle": "32B"}}, "steps": [{"memset": "out", "value": 1}, {"copy": "x", "to": "out"}, {"repeat": 3, "index": "i", "steps": [{"kernel": "k", "grid": ["i + 1"], "block": [32], "cluster": [1], "args": ["out", "real:eps", "i32:N", "t"]}]}]}' > corpus/plan
printf '\002%s' '{"buffers": [], "tensor_maps": [], "steps": [{"memset": "out", "value": 1}]}' > corpus/resolved

clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -DFMT_HEADER_ONLY=1 -DTOML_HEADER_ONLY=1 -I"$root/src" -o readers \
  "$root/tests/fuzz/readers.cc" "$root"/src/task/dtype.cc "$root"/src/task/expression.cc \
  "$root"/src/task/check.cc "$root"/src/task/task.cc "$root"/src/task/task_json.cc \
  "$root"/src/task/native.cc "$root"/src/candidate/candidate.cc \
  "$root"/src/candidate/kernel_name.cc "$root"/src/candidate/plan.cc \
  "$root"/src/candidate/plan_json.cc "$root"/src/candidate/resolve.cc \
  "$root"/src/candidate/resolve_tensor_map.cc "$root"/src/candidate/resolve_value.cc \
  "$root"/src/candidate/resolved_json.cc "$root"/src/candidate/scope.cc \
  "$root"/src/candidate/check_plan.cc "$root"/src/base/files.cc "$root"/src/base/half.cc \
  "$root"/src/base/hash.cc "$root"/src/base/json.cc "$root"/src/base/text.cc -lcrypto

exec ./readers -max_total_time="${1:-60}" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -artifact_prefix="$out/" corpus
