#include "verdict/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "verdict/host_tensor.h"

namespace kp {
namespace {

double number(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  for (const auto& v : list) values.push_back(number(v));
  return values;
}

void expect_equal(double got, double wanted, const std::string& what) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << what;
  } else if (std::isinf(wanted)) {
    EXPECT_EQ(got, wanted) << what;
  } else {
    EXPECT_NEAR(got, wanted, 1e-9 * std::abs(wanted)) << what;
  }
}

// The cases that tests/oracle/test_compare.py reads too: both sides judge alike, word for word.
TEST(CompareLeaf, SharedCases) {
  auto text = read_file(fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/compare_cases.json");
  ASSERT_TRUE(text) << text.error().text();
  auto cases = parse_json(*text, "compare_cases.json");
  ASSERT_TRUE(cases) << cases.error().text();
  ASSERT_GT(cases->size(), 10u);
  for (const auto& c : *cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    TensorSpec spec;
    spec.name = "out";
    spec.dtype = *parse_dtype(c["dtype"].get<std::string>());
    spec.shape = c["shape"].get<std::vector<std::int64_t>>();
    spec.strides = c["strides"].get<std::vector<std::int64_t>>();
    spec.role = Role::output;
    std::optional<Tolerance> user;
    if (!c["tolerance"].is_null())
      user = Tolerance{c["tolerance"][0].get<double>(), c["tolerance"][1].get<double>()};
    auto out = decode(encode(numbers(c["out"]), spec.dtype), spec.dtype);
    LeafError leaf = compare_leaf(spec, numbers(c["truth"]), out, number(c["eager_max_abs"]),
                                  number(c["eager_rel_l2"]),
                                  *parse_precision(c["precision"].get<std::string>()), user);
    for (const auto& [key, wanted] : c["expect"].items()) {
      if (key == "ok") {
        EXPECT_EQ(leaf.ok, wanted.get<bool>()) << leaf.reason;
      } else if (key == "reason") {
        EXPECT_EQ(leaf.reason, wanted.get<std::string>());
      } else if (key == "worst_index") {
        EXPECT_EQ(leaf.worst_index, wanted.get<std::vector<std::int64_t>>());
      } else {
        const std::map<std::string, double> measured = {{"max_abs", leaf.max_abs},
                                                        {"rel_l2", leaf.rel_l2},
                                                        {"outside", leaf.outside},
                                                        {"expected", leaf.expected},
                                                        {"actual", leaf.actual}};
        ASSERT_TRUE(measured.count(key)) << key;
        expect_equal(measured.at(key), number(wanted), key);
      }
    }
  }
}

TensorSpec row(std::int64_t n) {
  TensorSpec spec;
  spec.name = "out";
  spec.dtype = DType::f32;
  spec.shape = {n};
  spec.strides = {1};
  return spec;
}

TEST(CompareLeaf, QuantilesOfTheError) {
  std::vector<double> truth(101, 0.0);
  std::vector<double> out;
  for (int i = 0; i <= 100; ++i) out.push_back(i);
  LeafError leaf = compare_leaf(row(101), truth, out, 0, 0, Precision::strict, std::nullopt);
  ASSERT_TRUE(leaf.quantiles);
  EXPECT_EQ(leaf.quantiles->p50, 50);
  EXPECT_EQ(leaf.quantiles->p90, 90);
  EXPECT_EQ(leaf.quantiles->p99, 99);
  EXPECT_EQ(leaf.quantiles->max, 100);
}

TEST(CompareLeaf, QuantilesOfALargeLeafAreThoseOfASample) {
  const std::size_t n = 1 << 20;
  std::vector<double> truth(n, 0.0);
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<double>(i * 7919 % n) / static_cast<double>(n);
  LeafError leaf = compare_leaf(row(static_cast<std::int64_t>(n)), truth, out, 0, 0,
                                Precision::strict, std::nullopt);
  ASSERT_TRUE(leaf.quantiles);
  EXPECT_NEAR(leaf.quantiles->p50, 0.5, 0.01);
  EXPECT_NEAR(leaf.quantiles->p99, 0.99, 0.002);
  LeafError read = leaf_error_from_json(to_json(leaf));
  ASSERT_TRUE(read.quantiles);
  EXPECT_EQ(read.quantiles->p90, leaf.quantiles->p90);
}

// What is summed on the device must be judged as the same leaf on the host.
TEST(CompareLeaf, SumsGiveTheSameLeaf) {
  TensorSpec spec;
  spec.name = "out";
  spec.shape = {4};
  spec.strides = {1};
  std::vector<double> truth = {1, -2, 3, 4};
  TruthSize size = size_of_truth(spec, truth);
  for (double off : {0.0, 1e-6, 1e-4}) {
    std::vector<double> out = truth;
    out[2] += off;
    double error = out[2] - truth[2];
    LeafError host = compare_leaf(spec, truth, out, 1e-7, 1e-8, Precision::strict, std::nullopt);
    auto sums = leaf_from_sums(spec, size, error * error, error, 1e-7, 1e-8, Precision::strict,
                               std::nullopt);
    ASSERT_TRUE(sums) << off;
    EXPECT_EQ(sums->ok, host.ok) << off;
    EXPECT_EQ(sums->reason, host.reason) << off;
    EXPECT_DOUBLE_EQ(sums->rel_l2, host.rel_l2);
    EXPECT_DOUBLE_EQ(sums->max_abs, host.max_abs);
  }
  // Beyond the tolerance, or not finite: the host must look.
  EXPECT_FALSE(leaf_from_sums(spec, size, 1, 1, 1e-7, 1e-8, Precision::strict, std::nullopt));
  double nan = std::nan("");
  EXPECT_FALSE(leaf_from_sums(spec, size, nan, nan, 1e-7, 1e-8, Precision::strict, std::nullopt));
}

}  // namespace
}  // namespace kp
