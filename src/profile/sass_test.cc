#include "profile/sass.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "profile/sass_loops.h"

namespace kp {
namespace {

using Widths = std::map<int, int>;

std::string data(const char* name) {
  return read_file(fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/sass" / name).value();
}

SassSummary function(const std::vector<SassSummary>& all, std::string_view name) {
  for (const SassSummary& s : all) {
    if (s.function == name) return s;
  }
  ADD_FAILURE() << "no function " << name;
  return {};
}

// Counts were made by hand from the text.
TEST(Sass, NvdisasmOfCompiledKernels) {
  auto all = parse_sass(data("access_widths.nvdisasm.txt"));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->size(), 7U);

  SassSummary widths = function(*all, "widths");
  EXPECT_EQ(widths.global_load_widths, (Widths{{8, 1}, {16, 1}, {32, 1}, {64, 1}, {128, 1}}));
  EXPECT_EQ(widths.global_store_widths, (Widths{{8, 1}, {16, 1}, {32, 1}, {64, 1}, {128, 1}}));
  EXPECT_EQ(widths.loops, 0);
  EXPECT_EQ(widths.branches, 0);  // the trap behind the last EXIT is none
  EXPECT_EQ(widths.code.back().opcode, "BRA");

  SassSummary sum = function(*all, "block_sum");
  EXPECT_EQ(sum.loops, 1);
  EXPECT_EQ(sum.global_load_widths, (Widths{{32, 1}}));
  EXPECT_EQ(sum.loop_global_load_widths, (Widths{{32, 1}}));
  EXPECT_EQ(sum.shared_load_widths, (Widths{{32, 2}, {64, 1}}));
  EXPECT_EQ(sum.shared_store_widths, (Widths{{32, 2}}));
  EXPECT_EQ(sum.barriers, 2);
  EXPECT_EQ(sum.atomics, 1);
  EXPECT_EQ(sum.branches, 2);
  EXPECT_EQ(sum.hfma2, 0);  // HFMA2.MMA R0, -RZ, RZ, 0, 0 loads a constant
  EXPECT_EQ(sum.opcodes["REDG"], 1);

  SassSummary local = function(*all, "local_array");
  EXPECT_EQ(local.local_stores, 4);
  EXPECT_EQ(local.local_loads, 1);
  EXPECT_EQ(local.calls, 1);
  EXPECT_EQ(local.mufu, 2);
  EXPECT_EQ(local.dfma, 17);
  EXPECT_EQ(local.ffma, 1);
  EXPECT_EQ(local.loops, 0);

  SassSummary copies = function(*all, "copies");
  EXPECT_EQ(copies.async_copies, 1);
  EXPECT_EQ(copies.global_load_widths, (Widths{{128, 1}}));
  EXPECT_EQ(copies.shared_load_widths, (Widths{{128, 1}}));  // not the three @!PT LDS

  SassSummary matrix = function(*all, "matrix");
  EXPECT_EQ(matrix.hmma, 1);
  EXPECT_EQ(matrix.hgmma, 0);
  EXPECT_EQ(matrix.loops, 2);
  EXPECT_EQ(matrix.loop_global_load_widths, (Widths{{16, 2}}));
  EXPECT_EQ(matrix.shared_load_widths, (Widths{{64, 1}, {128, 1}}));  // LDSM x2, x4
  EXPECT_TRUE(matrix.loop_global_store_widths.empty());

  EXPECT_EQ(function(*all, "warp_group").hgmma, 1);

  SassSummary fill = function(*all, "ns::fill");
  EXPECT_EQ(fill.signature, "_ZN2ns4fillIfLi100EEEvPT_");
  EXPECT_EQ(fill.loops, 2);
  EXPECT_EQ(fill.loop_global_store_widths, (Widths{{32, 1}}));
}

// The line of every instruction is in the kernel's own file, also for inlined header code.
TEST(Sass, LinesAreTheKernels) {
  auto all = parse_sass(data("access_widths.nvdisasm.txt")).value();
  auto source = data("access_widths.cu");
  auto lines = lines_of(source);
  auto line_text = [&](const SassInstruction& i) {
    return i.line >= 1 && static_cast<std::size_t>(i.line) <= lines.size()
               ? std::string(lines[static_cast<std::size_t>(i.line) - 1])
               : std::string();
  };
  for (const SassSummary& s : all) {
    for (const SassInstruction& i : s.code) {
      EXPECT_GT(i.line, 0) << s.function << " " << i.opcode;
      if (i.opcode == "LDG.E.128") {
        EXPECT_TRUE(contains(line_text(i), "o4[i] = a4[i]")) << i.line;
      }
      if (i.opcode == "BAR.SYNC.DEFER_BLOCKING") {
        EXPECT_TRUE(contains(line_text(i), "__syncthreads")) << i.line;
      }
    }
  }
  SassSummary widths = function(all, "widths");
  for (const SassInstruction& i : widths.code) {
    if (i.opcode == "FMUL") {  // in a device function of the same file
      EXPECT_TRUE(contains(line_text(i), "3.0f")) << i.line;
    }
  }
}

TEST(Sass, CuobjdumpSaysTheSame) {
  auto a = parse_sass(data("access_widths.nvdisasm.txt")).value();
  auto b = parse_sass(data("access_widths.cuobjdump.txt"));
  ASSERT_TRUE(b) << b.error().text();
  ASSERT_EQ(b->size(), 2U);
  for (const SassSummary& y : *b) {
    SassSummary x = function(a, y.function);
    ASSERT_EQ(x.code.size(), y.code.size());
    for (std::size_t i = 0; i < x.code.size(); ++i) {
      EXPECT_EQ(x.code[i].address, y.code[i].address);
      EXPECT_EQ(x.code[i].opcode, y.code[i].opcode);
      EXPECT_EQ(x.code[i].predicate, y.code[i].predicate);
      EXPECT_EQ(x.code[i].in_loop, y.code[i].in_loop);
      EXPECT_EQ(y.code[i].line, 0);
      if (x.code[i].opcode == "BRA") {
        EXPECT_EQ(x.code[i].operands, y.code[i].operands);
      }
    }
    EXPECT_EQ(x.opcodes, y.opcodes);
    EXPECT_EQ(x.loops, y.loops);
  }
}

TEST(Sass, LoopMembershipInBlockSum) {
  SassSummary sum = function(parse_sass(data("access_widths.nvdisasm.txt")).value(), "block_sum");
  for (const SassInstruction& i : sum.code)
    EXPECT_EQ(i.in_loop, i.address >= 0xd0 && i.address <= 0x140) << std::hex << i.address;
}

SassInstruction make(std::uint32_t address, const char* predicate, const char* opcode,
                     const char* operands) {
  SassInstruction i;
  i.address = address;
  i.predicate = predicate;
  i.opcode = opcode;
  i.operands = operands;
  return i;
}

TEST(Sass, AJumpBackFromOutOfLineCodeIsNoLoop) {
  std::vector<SassInstruction> code = {
      make(0x00, "", "MOV", "R0, R1"), make(0x10, "@P0", "BRA", "0x50"),
      make(0x20, "", "MOV", "R2, R1"), make(0x30, "", "MOV", "R3, R1"),
      make(0x40, "", "EXIT", ""),      make(0x50, "", "MOV", "R4, R1"),
      make(0x60, "", "BRA", "0x20"),
  };
  EXPECT_EQ(find_loops(code).count, 0);
  code[6].operands = "0x50";
  SassLoops endless = find_loops(code);
  EXPECT_EQ(endless.count, 1);
  EXPECT_FALSE(endless.in_loop[2]);
  EXPECT_TRUE(endless.in_loop[5]);
}

TEST(Sass, ConditionInTheOperandsAndOneInstructionLoops) {
  std::vector<SassInstruction> code = {
      make(0x00, "", "MOV", "R0, R1"),
      make(0x10, "@P0", "BRA", "P1, 0x10"),
      make(0x20, "", "EXIT", ""),
      make(0x30, "", "BRA", "0x30"),
  };
  SassLoops loops = find_loops(code);
  EXPECT_EQ(loops.count, 1);
  EXPECT_TRUE(loops.in_loop[1]);
  EXPECT_FALSE(loops.in_loop[3]);
  EXPECT_TRUE(find_loops({}).in_loop.empty());
}

TEST(Sass, TextWithoutFunctionsIsAnError) {
  for (const char* text : {"", "hello\n", "\t.section\t.text.f,\"ax\"\n", "\t\tFunction : f\n"}) {
    auto r = parse_sass(text);
    ASSERT_FALSE(r) << text;
    EXPECT_TRUE(contains(r.error().hint, "nvdisasm"));
  }
}

TEST(Sass, CutTextNeverCrashes) {
  for (const char* name : {"access_widths.nvdisasm.txt", "access_widths.cuobjdump.txt"}) {
    std::string text = data(name);
    auto whole = parse_sass(text).value();
    for (std::size_t size = 0; size < text.size(); size += 331) {
      auto part = parse_sass(std::string_view(text).substr(0, size));
      if (part) {
        EXPECT_LE(part->size(), whole.size());
      }
    }
  }
}

}  // namespace
}  // namespace kp
