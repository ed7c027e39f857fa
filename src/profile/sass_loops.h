#pragma once
// Loops of SASS: control-flow graph, dominators, natural loops.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/sass.h"

namespace kp {

// "LDG.E.128" → "LDG".
std::string_view base_opcode(std::string_view opcode);

// Address that a branch or call goes to, as far as its operands tell.
std::optional<std::uint32_t> branch_target(const SassInstruction& instruction);

// The endless branch to itself that the compiler puts after the last instruction.
bool is_trap(const SassInstruction& instruction);

struct SassLoops {
  int count = 0;              // loop headers
  std::vector<bool> in_loop;  // by instruction
};

// A loop is a back edge to a block that dominates its source (Aho et al., "Compilers", 9.6.6), so a
// jump back from out-of-line code is none. Code after a CALL's target is another entry.
SassLoops find_loops(const std::vector<SassInstruction>& code);

}  // namespace kp
