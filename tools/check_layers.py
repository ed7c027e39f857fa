#!/usr/bin/env python3
"""Checks that each folder under src/ includes only itself and the folders before it in the flow."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = re.search(r"KERNELPRO_LAYERS ([^)]*)\)", (ROOT / "src/CMakeLists.txt").read_text()).group(1).split()
LAYERS.append("app")

bad = []
for path in sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".h", ".cc")):
    layer = path.relative_to(ROOT / "src").parts[0]
    if layer not in LAYERS:
        bad.append(f"{path}: folder src/{layer} is not in KERNELPRO_LAYERS (src/CMakeLists.txt)")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'#include "([a-z_]+)/', line)
        if match and (match[1] not in LAYERS or LAYERS.index(match[1]) > LAYERS.index(layer)):
            bad.append(f"{path.relative_to(ROOT)}:{number}: {layer}/ may not include {match[1]}/")
for line in bad:
    print(line)
print(f"layers: {len(bad)} violations")
sys.exit(1 if bad else 0)
