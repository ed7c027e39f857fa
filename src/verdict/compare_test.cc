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

}  // namespace
}  // namespace kp
