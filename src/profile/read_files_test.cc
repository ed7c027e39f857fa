#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/collect.h"
#include "profile/read.h"

namespace kp {
namespace {

const fs::path kRoot = KERNELPRO_SOURCE_DIR;
const fs::path kRecorded = kRoot / "examples/recorded";

std::string recorded(const char* name) {
  return read_file(kRecorded / name).value();
}

TEST(ReadSource, KernelsOfAnH200) {
  auto all = read_ncu_source(recorded("ncu_source_sass.csv"), "s.csv");
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_EQ(all->size(), 3U);  // twelve tables of three kernels
  const SassSummary& scale = (*all)[0];
  const SassSummary& gemm = (*all)[1];
  const SassSummary& strided = (*all)[2];
  EXPECT_EQ(scale.function, "scale_add");
  EXPECT_EQ(gemm.function, "gemm_naive");
  EXPECT_EQ(strided.function, "strided");
  EXPECT_EQ(scale.code[0].address, 0U);
  EXPECT_EQ(scale.code[0].opcode, "LDC");
  EXPECT_EQ(scale.code[0].executed, 2097152);
  EXPECT_EQ(scale.code[0].samples, 159);
  EXPECT_EQ(scale.code[2].operands, "UR4, SR_CTAID.X");
  EXPECT_EQ(scale.loops, 0);
  EXPECT_EQ(scale.global_load_widths, (std::map<int, int>{{32, 2}}));
  EXPECT_EQ(strided.calls, 1);
  EXPECT_EQ(strided.loops, 0);  // the 64-bit division is out of line and returns
  EXPECT_EQ(strided.mufu, 2);
  EXPECT_EQ(strided.global_load_widths, (std::map<int, int>{{32, 1}}));
  EXPECT_EQ(strided.global_store_widths, (std::map<int, int>{{32, 1}}));
  EXPECT_GT(gemm.loops, 0);
  EXPECT_EQ(gemm.loop_global_load_widths.size(), 1U);
  for (const SassSummary& s : *all) {
    for (const SassInstruction& i : s.code) {
      EXPECT_FALSE(contains(i.operands, "0x7fba")) << i.opcode << " " << i.operands;
    }
  }
}

TEST(ReadSource, CutTablesNeverCrashAndNoSassIsAnError) {
  std::string text = recorded("ncu_source_sass.csv");
  auto whole = read_ncu_source(text, "s.csv").value();
  for (std::size_t size = 0; size < text.size(); size += 4999) {
    auto part = read_ncu_source(std::string_view(text).substr(0, size), "cut.csv");
    if (!part) continue;
    for (std::size_t f = 0; f < part->size(); ++f) {
      const auto& code = (*part)[f].code;
      ASSERT_LE(code.size(), whole[f].code.size()) << size;
      for (std::size_t i = 0; i < code.size(); ++i) {
        EXPECT_EQ(code[i].opcode, whole[f].code[i].opcode) << size;
        if (code[i].executed >= 0) {
          EXPECT_EQ(code[i].executed, whole[f].code[i].executed) << size;
        }
      }
    }
  }
  auto none = read_ncu_source("\"Kernel Name\",\"f\"\n\"#\",\"Source\"\n", "s.csv");
  ASSERT_FALSE(none);
  EXPECT_TRUE(contains(none.error().hint, "--page source"));
}

TEST(ReadSource, CountsThatMayBeThousandsAreUnknown) {
  auto count = [](const char* executed) {
    auto f = read_ncu_source(
        "\"Kernel Name\",\"f\"\n\"#\",\"Address\",\"Source\",\"Instructions "
        "Executed\"\n\"0\",\"0x10\",\"EXIT\",\"" +
            std::string(executed) + "\"\n",
        "s.csv");
    EXPECT_TRUE(f.has_value());
    return f ? f->at(0).code.at(0).executed : -2;
  };
  EXPECT_EQ(count("1234"), 1234);
  EXPECT_EQ(count("1,234"), 1234);
  EXPECT_EQ(count("1.234"), -1);
  EXPECT_EQ(count("1e300"), -1);
  EXPECT_EQ(count("n/a"), -1);
}

TEST(ReadFiles, PagesOfTheSameKernelsAreMerged) {
  auto p = read_profile_files({kRecorded / "ncu_source_sass.csv", kRecorded / "ncu_details.csv",
                               kRecorded / "ncu_raw_full.csv"});
  ASSERT_TRUE(p) << p.error().text();
  ASSERT_EQ(p->kernels.size(), 6U);
  EXPECT_TRUE(p->notes.empty()) << join(p->notes, "\n");
  for (const KernelProfile& k : p->kernels) {
    ASSERT_TRUE(k.sass) << k.kernel;
    EXPECT_EQ(k.sass->function, k.kernel);
  }
  // The raw page's number stands, not the rounded one.
  EXPECT_DOUBLE_EQ(p->kernels[1].get(Metric::duration_us).value_or(-1), 3154.656);
  EXPECT_DOUBLE_EQ(p->kernels[1].get(Metric::dram_bytes_read).value_or(-1), 33576960);
}

TEST(ReadFiles, DisassemblyAloneAndJsonOfOurOwn) {
  auto p = read_profile_files({kRoot / "tests/data/sass/access_widths.cuobjdump.txt"});
  ASSERT_TRUE(p) << p.error().text();
  ASSERT_EQ(p->kernels.size(), 2U);
  EXPECT_EQ(p->kernels[0].kernel, "local_array");
  EXPECT_FALSE(p->kernels[0].get(Metric::duration_us));
  auto folder = TempFolder::make("kp-profile").value();
  fs::path json = folder.path() / "profile.json";
  ASSERT_TRUE(write_file(json, dump_json(to_json(*p))));
  auto again = read_profile_files({json});
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_EQ(again->sources.size(), 2U);
  EXPECT_TRUE(contains(again->sources[0], "profile of kernelpro")) << again->sources[0];
  EXPECT_TRUE(contains(again->sources[1], "SASS")) << again->sources[1];
  again->sources = p->sources;
  EXPECT_EQ(to_json(*again), to_json(*p));
}

TEST(ReadFiles, ContentTellsTheKindWhateverTheName) {
  auto folder = TempFolder::make("kp-profile").value();
  struct Case {
    fs::path from;
    const char* kind;
  };
  const Case cases[] = {{kRecorded / "ncu_raw_full.csv", "raw page"},
                        {kRecorded / "ncu_details.csv", "details page"},
                        {kRecorded / "ncu_source_sass.csv", "source page"},
                        {kRoot / "tests/data/nsys/stats.csv", "stats (CSV)"},
                        {kRoot / "tests/data/nsys/trace.sqlite", "SQLite export"},
                        {kRoot / "tests/data/sass/access_widths.nvdisasm.txt", "SASS"}};
  for (const Case& c : cases) {
    fs::path copy = folder.path() / "x.bin";
    ASSERT_TRUE(write_file(copy, read_file(c.from).value()));
    auto p = read_profile_files({copy});
    ASSERT_TRUE(p) << p.error().text();
    ASSERT_EQ(p->sources.size(), 1U);
    EXPECT_TRUE(contains(p->sources[0], c.kind)) << p->sources[0];
    EXPECT_FALSE(p->kernels.empty()) << c.kind;
  }
}

TEST(ReadFiles, ATraceAddsItsTimelineToCounters) {
  auto p =
      read_profile_files({kRoot / "tests/data/nsys/trace.sqlite", kRecorded / "ncu_raw_full.csv"});
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->kernels.size(), 6U);
  EXPECT_DOUBLE_EQ(p->kernels[1].get(Metric::duration_us).value_or(-1), 3154.656);
  ASSERT_TRUE(p->timeline);
  EXPECT_EQ(p->timeline->events.size(), 6U);
}

// Programs that answer as ncu and nsys do; what they are asked for is kept in a file.
TEST(ReadFiles, ReportsAreOpenedByTheirOwnPrograms) {
  auto folder = TempFolder::make("kp-report").value();
  fs::path report = folder.path() / "my run.ncu-rep";
  ASSERT_TRUE(write_file(report, std::string_view("NVR\0\1\2", 6)));
  Toolkit programs;
  auto none = import_ncu_report(programs, report);
  ASSERT_FALSE(none);
  EXPECT_TRUE(contains(none.error().text(), "ncu --import")) << none.error().text();
  auto no_nsys = export_nsys_report(programs, report, folder.path() / "o.sqlite");
  ASSERT_FALSE(no_nsys);
  EXPECT_TRUE(contains(no_nsys.error().text(), "nsys export")) << no_nsys.error().text();

  fs::path fake = folder.path() / "ncu";
  std::string raw = (kRecorded / "ncu_raw_full.csv").string();
  std::string source = (kRecorded / "ncu_source_sass.csv").string();
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\necho \"$@\" >> '" + folder.path().string() +
                                   "/asked'\ncase \"$*\" in *source*) cat '" + source +
                                   "';; *) cat '" + raw + "';; esac\n"));
  fs::permissions(fake, fs::perms::owner_all);
  programs.ncu = fake.string();
  auto pages = import_ncu_report(programs, report);
  ASSERT_TRUE(pages) << pages.error().text();
  EXPECT_EQ(pages->raw, recorded("ncu_raw_full.csv"));
  EXPECT_EQ(pages->source, recorded("ncu_source_sass.csv"));
  std::string asked = read_file(folder.path() / "asked").value();
  EXPECT_TRUE(contains(asked, "--import " + report.string() + " --csv --page raw")) << asked;

  ASSERT_TRUE(write_file(fake, "#!/bin/sh\necho '==ERROR== Failed to open the report' ; exit 1\n"));
  fs::permissions(fake, fs::perms::owner_all);
  auto failed = import_ncu_report(programs, report);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(contains(failed.error().message, "Failed to open the report"));
  EXPECT_TRUE(contains(failed.error().message, "my run.ncu-rep"));
}

TEST(ReadFiles, BadFilesAreNamed) {
  EXPECT_FALSE(read_profile_files({}));
  auto missing = read_profile_files({"/no/such.csv"});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(contains(missing.error().message, "/no/such.csv"));
  auto folder = TempFolder::make("kp-profile").value();
  fs::path text = folder.path() / "notes.txt";
  ASSERT_TRUE(write_file(text, "hello\n"));
  auto unknown = read_profile_files({text});
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(contains(unknown.error().message, "notes.txt"));
  ASSERT_TRUE(write_file(text, "{\"kernels\": 3}"));
  auto bad_json = read_profile_files({text});
  ASSERT_FALSE(bad_json);
  EXPECT_TRUE(contains(bad_json.error().message, "notes.txt"));
}

TEST(Attach, ByNameAndInstantiation) {
  Profile p;
  for (const char* signature : {"void f<(int)16>(float *)", "void f<(int)32>(float *)", "g(int)"}) {
    KernelProfile k;
    k.signature = signature;
    k.kernel = signature[0] == 'g' ? "g" : "f";
    p.kernels.push_back(k);
  }
  SassSummary f16, f32, g;
  f16.signature = "_Z1fILi16EEvPf";
  f32.signature = "_Z1fILi32EEvPf";
  g.signature = "g";
  f16.function = f32.function = "f";
  g.function = "g";
  Build build;
  build.kernels.resize(2);
  build.kernels[0].params.kernel = "g";
  build.kernels[0].registers = 40;
  build.kernels[1].params.kernel = "never_launched";
  attach(p, build, {f32, g, f16});
  ASSERT_EQ(p.kernels.size(), 4U);
  EXPECT_EQ(p.kernels[0].sass->signature, "_Z1fILi16EEvPf");
  EXPECT_EQ(p.kernels[1].sass->signature, "_Z1fILi32EEvPf");
  EXPECT_EQ(p.kernels[2].sass->signature, "g");
  EXPECT_EQ(p.kernels[2].resources->registers, 40U);
  EXPECT_FALSE(p.kernels[0].resources);
  EXPECT_EQ(p.kernels[3].kernel, "never_launched");
  EXPECT_TRUE(p.kernels[3].metrics.empty());

  Profile bare;
  bare.kernels.resize(1);
  bare.kernels[0].kernel = "f";
  attach(bare, {}, {f16, f32});
  EXPECT_FALSE(bare.kernels[0].sass);
  ASSERT_FALSE(bare.notes.empty());
  EXPECT_TRUE(contains(bare.notes[0], "several functions")) << bare.notes[0];
}

}  // namespace
}  // namespace kp
