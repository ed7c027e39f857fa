#include "verdict/sanitizer.h"

#include <gtest/gtest.h>

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
