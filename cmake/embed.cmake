# Writes OUT: a table of {path, text} of the files that LIST names under ROOT. The assembler includes
# the bytes (.incbin), so a large asset costs no compile time.
file(STRINGS ${LIST} names)
set(body "")
set(rows "")
set(i 0)
foreach(n ${names})
  string(APPEND body "asm(\".section .rodata\\n.global kp_asset_${i}\\nkp_asset_${i}:\\n.incbin \\\"${ROOT}/${n}\\\"\\n\"\n    \".global kp_asset_${i}_end\\nkp_asset_${i}_end:\\n.byte 0\\n.previous\\n\");\nextern \"C\" const char kp_asset_${i}[];\nextern \"C\" const char kp_asset_${i}_end[];\n")
  string(APPEND rows "    {\"${n}\", kp_asset_${i}, kp_asset_${i}_end},\n")
  math(EXPR i "${i}+1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed.cmake.\n#include \"base/assets.h\"\n${body}\nnamespace kp::detail {\nconst AssetRow kAssets[] = {\n${rows}    {nullptr, nullptr, nullptr}};\n}\n")
