#pragma once
// One instruction's text, as nvdisasm, cuobjdump and ncu write it.
#include <string_view>

#include "profile/sass.h"

namespace kp {

// "@P1 BRA 0x1f0 ;" → predicate, opcode, operands. Trailing encodings in comments are passed over.
bool parse_instruction(std::string_view text, SassInstruction& out);

}  // namespace kp
