#include "verdict/sanitizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kp {
namespace {

const OnceProof kRan{3, true};

TEST(SanitizerLog, CleanNeedsTheSummaryAndTheProofOfTheRun) {
  std::string log = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
  SanitizerRun run = read_sanitizer_log("memcheck", log, &kRan);
  EXPECT_EQ(run.status, SanitizerRun::Status::clean);
  EXPECT_EQ(run.launches, 3);
  EXPECT_EQ(read_sanitizer_log("memcheck", log, nullptr).status, SanitizerRun::Status::failed);
  OnceProof idle{0, true};
  EXPECT_EQ(read_sanitizer_log("memcheck", log, &idle).status, SanitizerRun::Status::failed);
  OnceProof blank{3, false};
  EXPECT_EQ(read_sanitizer_log("memcheck", log, &blank).status, SanitizerRun::Status::failed);
  SanitizerRun cut = read_sanitizer_log("memcheck", "========= COMPUTE-SANITIZER\n", &kRan);
  EXPECT_EQ(cut.status, SanitizerRun::Status::failed);
  EXPECT_NE(cut.note, "");
}

// Logs recorded on an H200 (tests/data/sanitizer/record.cu).
SanitizerRun recorded(std::string_view tool, std::string_view what) {
  fs::path file = fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/sanitizer" /
                  fmt::format("{}.{}.txt", tool, what);
  auto log = read_file(file);
  EXPECT_TRUE(log) << file;
  return read_sanitizer_log(tool, log.value_or(""), &kRan);
}

void expect_issue(const SanitizerRun& run, std::string_view kernel, int line, int times) {
  EXPECT_EQ(run.status, SanitizerRun::Status::issues) << run.tool;
  ASSERT_EQ(run.issues.size(), 1U) << run.tool;
  EXPECT_EQ(run.issues[0].kernel, kernel);
  EXPECT_EQ(run.issues[0].file, "record.cu");
  EXPECT_EQ(run.issues[0].line, line);
  EXPECT_EQ(run.issues[0].times, times);
  EXPECT_FALSE(run.issues[0].warning);
}

TEST(SanitizerLog, RecordedErrorsHaveTheirPlaceAndCount) {
  SanitizerRun race = recorded("racecheck", "race");
  expect_issue(race, "race", 30, 1);
  EXPECT_NE(race.issues[0].detail.find("Read access at race+0xf0"), std::string::npos)
      << race.issues[0].detail;
  expect_issue(recorded("synccheck", "barrier"), "barrier", 40, 13);
  expect_issue(recorded("memcheck", "misaligned"), "misaligned", 25, 50);
  SanitizerRun uninitialised = recorded("initcheck", "uninitialised");
  expect_issue(uninitialised, "uninitialised", 36, 50);
  EXPECT_EQ(uninitialised.issues[0].what, "Uninitialized __global__ memory read of size 4 bytes");
  EXPECT_EQ(recorded("racecheck", "clean").status, SanitizerRun::Status::clean);
  EXPECT_EQ(recorded("memcheck", "clean").status, SanitizerRun::Status::clean);
}

TEST(SanitizerLog, ReportsThatWereDroppedAreANoteNotAnError) {
  SanitizerRun run = read_sanitizer_log(
      "initcheck",
      "========= COMPUTE-SANITIZER\n"
      "========= Uninitialized __global__ memory read of size 4 bytes\n"
      "=========     at k+0x60 in k.cu:3\n"
      "========= Warning: Error buffer overflow has been detected. Some records have been dropped\n"
      "========= Error: 8 errors were skipped (error buffer overflow).\n"
      "========= ERROR SUMMARY: 59 errors\n",
      &kRan);
  EXPECT_EQ(run.status, SanitizerRun::Status::issues);
  EXPECT_EQ(run.issues.size(), 1U);
  EXPECT_NE(run.note.find("8 errors were skipped"), std::string::npos) << run.note;
}

TEST(SanitizerLog, TroubleOfTheToolIsNoStatementAboutTheKernel) {
  SanitizerRun run = read_sanitizer_log("racecheck",
                                        "========= COMPUTE-SANITIZER\n"
                                        "========= Error: Device not supported. Please refer to "
                                        "the documentation\n",
                                        &kRan);
  EXPECT_EQ(run.status, SanitizerRun::Status::failed);
  EXPECT_NE(run.note.find("Device not supported"), std::string::npos);
}

TEST(SanitizerReportTest, CleanMeansEveryToolRan) {
  SanitizerReport report;
  EXPECT_FALSE(report.clean());
  SanitizerRun run;
  run.status = SanitizerRun::Status::clean;
  report.runs = {run, run};
  EXPECT_TRUE(report.clean());
  report.runs[1].status = SanitizerRun::Status::failed;
  EXPECT_FALSE(report.clean());
  EXPECT_FALSE(report.issues());
  report.runs[1].status = SanitizerRun::Status::issues;
  EXPECT_TRUE(report.issues());
}

}  // namespace
}  // namespace kp
