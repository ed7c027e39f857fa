#include "profile/profile.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/read.h"
#include "profile/roofline.h"

namespace kp {
namespace {

const fs::path kRecorded = fs::path(KERNELPRO_SOURCE_DIR) / "examples/recorded";

TEST(Profile, JsonBothWays) {
  Profile p =
      read_profile_files({kRecorded / "ncu_raw_full.csv", kRecorded / "ncu_source_sass.csv"})
          .value();
  p.work = Work{1e9, 2e9, 3e9};
  p.precision = Precision::tf32;
  p.ceilings = Ceilings{};
  p.ceilings->dram_gbs = 4280;
  p.roofline = roofline_of(*p.work, *p.ceilings, p.precision);
  add_measurement(p);
  p.notes = {"a note"};
  KernelResources r;
  r.params = {"scale_add", {8, 8, 8, 4}, 256, 64};
  r.registers = 16;
  r.spill_load_bytes = 12;
  p.kernels[0].resources = r;
  Json json = to_json(p);
  auto parsed = parse_json(dump_json(json), "profile").value();
  auto again = profile_from_json(parsed);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(again->kernels[1].metrics.size(), p.kernels[1].metrics.size());
  EXPECT_EQ(again->kernels[0].resources->params.sizes, r.params.sizes);
  EXPECT_EQ(again->kernels[1].sass->loops, p.kernels[1].sass->loops);
  EXPECT_EQ(again->kernels[1].sass->code[3].samples, p.kernels[1].sass->code[3].samples);
  EXPECT_EQ(again->roofline.bound, p.roofline.bound);
  EXPECT_EQ(again->device->name, "NVIDIA H200");
}

TEST(Profile, BadJsonIsNamed) {
  auto error = [](const char* text) {
    auto r = profile_from_json(parse_json(text, "t").value());
    return r ? std::string() : r.error().message;
  };
  EXPECT_TRUE(contains(error("[]"), "kernels"));
  EXPECT_TRUE(contains(error("{\"kernels\": [{}]}"), "kernel"));
  EXPECT_TRUE(contains(error("{\"kernels\": [], \"precision\": \"loose\"}"), "loose"));
  EXPECT_TRUE(contains(error("{\"kernels\": [{\"kernel\": \"f\", \"metrics\": {\"duration_us\": "
                             "{\"value\": \"3\"}}}]}"),
                       "duration_us"));
  EXPECT_TRUE(contains(error("{\"kernels\": [{\"kernel\": \"f\", \"metrics\": {\"duration_us\": "
                             "{\"value\": 3, \"unit\": \"ms\"}}}]}"),
                       "ms"));
  EXPECT_TRUE(contains(error("{\"kernels\": [{\"kernel\": \"f\", \"sass\": {\"function\": \"f\", "
                             "\"code\": [[1, 2]]}}]}"),
                       "instruction 0"));
  EXPECT_TRUE(contains(error("{\"kernels\": [], \"roofline\": {\"bound\": \"tall\"}}"), "tall"));
}

TEST(Profile, TotalsAndDominant) {
  Profile p;
  EXPECT_EQ(p.total_us(), 0);
  EXPECT_EQ(p.dominant(), nullptr);
  p.kernels.resize(3);
  p.kernels[0].metrics[Metric::duration_us] = {5, ""};
  p.kernels[2].metrics[Metric::duration_us] = {7, ""};
  EXPECT_EQ(p.total_us(), 12);
  EXPECT_EQ(p.dominant(), &p.kernels[2]);
  EXPECT_FALSE(p.kernels[1].get(Metric::duration_us));
}

}  // namespace
}  // namespace kp
