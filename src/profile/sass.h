#pragma once
// SASS: the machine code that really runs, per function. Reads nvdisasm's and cuobjdump's text and
// Nsight Compute's source page.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kp {

struct SassInstruction {
  std::uint32_t address = 0;  // bytes from the function's start
  std::string predicate;      // "@P0", "@!P1", or empty
  std::string opcode;         // "LDG.E.128.CONSTANT", modifiers included
  std::string operands;
  int line = 0;                // line in the kernel's own file when the build has line information
  bool in_loop = false;        // in the body of a natural loop
  std::int64_t executed = -1;  // by warps, in one launch; -1: unknown (ncu's source page has it)
  std::int64_t samples = -1;   // of the warp-state sampler, in the same launch; -1: unknown
};

// Counts are of instructions in the code, not of executions.
struct SassSummary {
  std::string function;                   // function name, without parameters, as in KernelProfile
  std::string signature;                  // as the text has it, often mangled
  std::vector<SassInstruction> code;      // without padding NOPs after the last EXIT/BRA
  std::map<std::string, int> opcodes;     // by base opcode: "LDG" -> 4
  std::map<int, int> global_load_widths;  // bits a thread: 8 16 32 64 128 -> count
  std::map<int, int> global_store_widths;
  std::map<int, int> shared_load_widths, shared_store_widths;
  std::map<int, int> loop_global_load_widths, loop_global_store_widths;  // those inside loops
  int local_loads = 0, local_stores = 0;                                 // LDL, STL
  int hgmma = 0, hmma = 0, imma = 0, dmma = 0, qgmma = 0;                // tensor-core instructions
  int ffma = 0, dfma = 0, hfma2 = 0, mufu = 0;
  int async_copies = 0;  // LDGSTS, UBLKCP, UTMALDG
  int barriers = 0;      // BAR, SYNCS
  int branches = 0, calls = 0, atomics = 0;
  int loops = 0;  // back edges
};

// All functions of a disassembly, in order. Text without any function is an Error.
Result<std::vector<SassSummary>> parse_sass(std::string_view text);

// Bits that a thread moves, from the modifiers: ".E.128", ".U8"; 32 when none says otherwise.
int access_bits(std::string_view opcode);

// How often an instruction counts beside others of its function: its executions where they are
// known; else those in loops once and, when the function has loops, the others not at all.
double weight_of(const SassSummary& function, const SassInstruction& instruction);

// Fills the counts from `code` (also marks loops).
void summarize(SassSummary& function);

}  // namespace kp
