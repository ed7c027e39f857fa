#!/usr/bin/env python3
"""Compiles the CUDA examples of the directive templates (```cuda blocks), all in one file."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NVCC = sys.argv[1] if len(sys.argv) > 1 else "nvcc"

blocks = []
for path in sorted((ROOT / "assets/directives").rglob("*.md")):
    text = path.read_text()
    for match in re.finditer(r"^```cuda\n(.*?)^```", text, re.M | re.S):
        line = text[: match.start(1)].count("\n") + 1
        blocks.append(f'#line {line} "{path.relative_to(ROOT)}"\nnamespace example_{len(blocks)} {{\n'
                      # Two examples may use one name; only extern "C" would make them clash.
                      + match[1].replace('extern "C" ', "") + "}\n")
if not blocks:
    sys.exit("no examples found: has the form of the templates changed?")
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder) / "examples.cu"
    source.write_text("\n".join(blocks))
    result = subprocess.run([NVCC, "-std=c++17", "-cubin", "-gencode=arch=compute_90a,code=sm_90a",
                             "-o", f"{folder}/examples.cubin", str(source)])
print(f"examples: {len(blocks)} compiled" if result.returncode == 0 else "examples: failed")
sys.exit(result.returncode)
