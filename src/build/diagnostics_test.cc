#include "build/diagnostics.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace kp {
namespace {

// Printed by NVRTC 13.0.
const char* const kLog =
    "e.cu(5): warning #549-D: variable \"i\" is used before its value is set\n"
    "    int i; x[1]=i;\n"
    "                ^\n"
    "\n"
    "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
    "\n"
    "/usr/include/cute/layout.hpp(40): error: static assertion failed with \"too small\"\n"
    "  static_assert(sizeof(T)>8, \"too small\");\n"
    "  ^\n"
    "          detected during:\n"
    "            instantiation of \"T g(T) [with T=float]\" at line 9\n"
    "            instantiation of \"T f(T) [with T=float]\" at line 12 of \"e.cu\"\n"
    "\n"
    "e.cu(1): catastrophic error: could not open source file \"no.h\" (no directories in search "
    "list)\n"
    "  #include <no.h>\n"
    "                 ^\n"
    "2 errors detected in the compilation of \"e.cu\".\n";

TEST(Diagnostics, OfTheFrontEnd) {
  auto d = parse_nvrtc_log(kLog, "e.cu");
  ASSERT_EQ(d.size(), 4U);
  EXPECT_EQ(d[0].severity, Diagnostic::Severity::warning);
  EXPECT_EQ(d[0].line, 5);
  EXPECT_EQ(d[0].column, 15);
  EXPECT_EQ(d[0].file, "");
  EXPECT_EQ(d[1].file, "/usr/include/cute/layout.hpp");
  EXPECT_EQ(d[1].line, 40);
  EXPECT_EQ(d[2].severity, Diagnostic::Severity::note);
  EXPECT_EQ(d[2].line, 12);
  EXPECT_EQ(d[3].severity, Diagnostic::Severity::error);
  EXPECT_EQ(d[3].message, "could not open source file \"no.h\" (no directories in search list)");
}

TEST(Diagnostics, OfPtxas) {
  const char* log =
      "ptxas application ptx input, line 29; error   : Unknown modifier '.op'\n"
      "ptxas application ptx input, line 31; error   : Not a name of any known instruction: 'x'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n";
  auto d = parse_nvrtc_log(log, "e.cu");
  ASSERT_EQ(d.size(), 3U);
  EXPECT_EQ(d[0].message, "ptxas: Unknown modifier '.op'");
  EXPECT_EQ(ptx_error_lines(log), (std::vector<int>{29, 31}));
  const char* ptx =
      ".visible .entry k(\n)\n{\n.loc 1 7 3\nmov.u32 %r1, 1;\n.loc 2 99 1\nbogus;\n}\n"
      ".file 1 \"e.cu\"\n.file 2 \"/x/other.h\"\n";
  EXPECT_EQ(source_line_of_ptx(ptx, 7, "e.cu"), 7);
  EXPECT_EQ(source_line_of_ptx(ptx, 3, "e.cu"), 0);
  EXPECT_EQ(source_line_of_ptx(ptx, 700, "e.cu"), 0);
  EXPECT_EQ(source_line_of_ptx(ptx, 7, "none.cu"), 0);
}

TEST(Diagnostics, Spills) {
  auto s = parse_spills(
      "ptxas info    : Function properties for k\n"
      "ptxas         .     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n");
  EXPECT_EQ(s["k"].store_bytes, 16U);
  EXPECT_EQ(s["k"].load_bytes, 24U);
}

TEST(Diagnostics, WordsNameTheFirstErrorsAndCountTheRest) {
  Build b;
  b.source = "one\ntwo\n";
  b.diagnostics = {{Diagnostic::Severity::warning, 1, 0, "", "w"},
                   {Diagnostic::Severity::error, 2, 2, "", "bad"},
                   {Diagnostic::Severity::note, 1, 0, "", "from here"},
                   {Diagnostic::Severity::error, 7, 0, "h.hpp", "worse"}};
  EXPECT_EQ(
      describe_diagnostics(b, 1),
      "line 2: error: bad\n    two\n     ^\nline 1: note: from here\n    one\nand 1 more errors\n");
  EXPECT_TRUE(contains(describe_diagnostics(b, 2), "h.hpp:7: error: worse"));
}

TEST(Diagnostics, AnyTextIsTaken) {
  EXPECT_TRUE(parse_nvrtc_log("", "e.cu").empty());
  EXPECT_TRUE(parse_nvrtc_log("): \n(): error: \n(99999999999999): error: x\n", "e.cu").empty());
}

}  // namespace
}  // namespace kp
