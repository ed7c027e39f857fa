#include "base/text.h"
#include "profile/sass.h"
#include "profile/sass_loops.h"

namespace kp {

namespace {

bool any_of(std::string_view op, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (op == name) return true;
  }
  return false;
}

void count(SassSummary& s, const SassInstruction& i) {
  if (i.predicate == "@!PT") return;  // never executed: filler before asynchronous copies
  std::string_view op = base_opcode(i.opcode);
  ++s.opcodes[std::string(op)];
  int bits = access_bits(i.opcode);
  if (any_of(op, {"LDG", "LD", "LDGSTS"})) {
    ++s.global_load_widths[bits];
    if (i.in_loop) ++s.loop_global_load_widths[bits];
  }
  if (any_of(op, {"STG", "ST"})) {
    ++s.global_store_widths[bits];
    if (i.in_loop) ++s.loop_global_store_widths[bits];
  }
  if (any_of(op, {"LDS", "LDSM"})) ++s.shared_load_widths[bits];
  if (any_of(op, {"STS", "STSM"})) ++s.shared_store_widths[bits];
  if (op == "LDL") ++s.local_loads;
  if (op == "STL") ++s.local_stores;
  if (op == "HGMMA") ++s.hgmma;
  if (op == "HMMA") ++s.hmma;
  if (any_of(op, {"IMMA", "IGMMA"})) ++s.imma;
  if (op == "DMMA") ++s.dmma;
  if (op == "QGMMA") ++s.qgmma;
  if (any_of(op, {"FFMA", "FFMA2"})) ++s.ffma;
  if (op == "DFMA") ++s.dfma;
  // The compiler also uses HFMA2 with two zero factors to load constants.
  if (op == "HFMA2" && !contains(i.operands, "-RZ, RZ,")) ++s.hfma2;
  if (op == "MUFU") ++s.mufu;
  if (any_of(op, {"LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG"})) ++s.async_copies;
  if (any_of(op, {"BAR", "SYNCS"})) ++s.barriers;
  if (any_of(op, {"BRA", "JMP", "BRX", "JMX", "BRXU", "JMXU"}) && !is_trap(i)) ++s.branches;
  if (op == "CALL") ++s.calls;
  if (any_of(op, {"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS", "UTMAREDG"})) ++s.atomics;
}

}  // namespace

int access_bits(std::string_view opcode) {
  auto parts = split(opcode, '.');
  if (any_of(parts[0], {"LDSM", "STSM"})) {  // ldmatrix, stmatrix: .1/.2/.4 matrices of 8x8 halves
    std::string_view last = parts.back();
    return last == "4" ? 128 : last == "2" ? 64 : 32;
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::string_view p = parts[i];
    if (p == "U8" || p == "S8") return 8;
    if (p == "U16" || p == "S16") return 16;
    if (p == "64") return 64;
    if (p == "128") return 128;
    if (p == "256") return 256;
  }
  return 32;
}

double weight_of(const SassSummary& function, const SassInstruction& instruction) {
  if (instruction.predicate == "@!PT") return 0;
  if (instruction.executed >= 0) return static_cast<double>(instruction.executed);
  return function.loops == 0 || instruction.in_loop ? 1 : 0;
}

void summarize(SassSummary& s) {
  while (!s.code.empty() && s.code.back().opcode == "NOP") s.code.pop_back();
  SassSummary fresh;
  fresh.function = std::move(s.function);
  fresh.signature = std::move(s.signature);
  fresh.code = std::move(s.code);
  s = std::move(fresh);
  SassLoops loops = find_loops(s.code);
  s.loops = loops.count;
  for (std::size_t i = 0; i < s.code.size(); ++i) {
    s.code[i].in_loop = loops.in_loop[i];
    count(s, s.code[i]);
  }
}

}  // namespace kp
