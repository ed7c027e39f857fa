#!/usr/bin/env bash
# The main job with what this machine has. Called by `make demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
kernelpro=$1
say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

say "What works here (kernelpro doctor)"
"$kernelpro" doctor

say "What is wrong with three kernels, read from telemetry that was recorded on an H200"
echo "$ kernelpro profile examples/recorded/ncu_raw_full.csv examples/recorded/ncu_source_sass.csv"
"$kernelpro" profile examples/recorded/ncu_raw_full.csv examples/recorded/ncu_source_sass.csv

if "$kernelpro" doctor --json | grep -q '"gpu": true'; then
  say "On this GPU: judge a candidate"
  "$kernelpro" evaluate examples/native/row_softmax/row_softmax.toml examples/candidates/row_softmax_online.cu
  say "On this GPU: a whole search, with prepared replies in place of a model"
  "$kernelpro" optimize examples/native/row_softmax/row_softmax.toml --provider command \
    --command "sh tools/demo_reply.sh" --proposals-first 1 --iterations 1 --candidates 1
else
  say "What a GPU would add"
  cat <<'TEXT'
This machine has no GPU, so nothing was run or timed here: the profile above is a reading of recorded numbers.
With an NVIDIA GPU (driver, CUDA toolkit, Nsight Compute, python3 with torch for .py tasks) the same binary does
  kernelpro evaluate TASK CANDIDATE     right on secret seeds? how accurate against fp64? how fast?
  kernelpro profile  TASK CANDIDATE     the reading above, of your own kernel
  kernelpro optimize TASK --provider P  proposals, verdicts, profiles and directives in a search that resumes
docs/results.md has a transcript and the figures of an H200.
TEXT
fi
