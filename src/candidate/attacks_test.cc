// The attacks under tests/attacks/plans load and resolve for their tasks, so that what refuses them
// on a GPU is a defence and not a slip. (tests/gpu/plan_attacks.py runs them.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "candidate/candidate.h"
#include "candidate/resolve.h"
#include "task/native.h"

namespace kp {
namespace {

const fs::path kPlans = fs::path(KERNELPRO_SOURCE_DIR) / "tests/attacks/plans";

Json table() {
  auto text = read_file(kPlans / "attacks.json");
  EXPECT_TRUE(text.has_value());
  auto json = parse_json(text.value_or("{}"), "attacks.json");
  EXPECT_TRUE(json.has_value());
  return json.value_or(Json::object());
}

// Empty when the candidate resolves.
std::string trouble(const fs::path& path, const Task& task) {
  auto candidate = load_candidate(path);
  if (!candidate) return candidate.error().text();
  auto plan = resolve(candidate->plan, task);
  return plan ? "" : plan.error().text();
}

TEST(Attacks, EachResolvesUnlessThePlanItselfIsTheAttack) {
  const Json all = table();
  std::set<std::string> folders;
  for (const auto& attack : all["attacks"]) {
    std::string name = attack["name"];
    SCOPED_TRACE(name);
    EXPECT_TRUE(folders.insert(name).second);
    auto task = load_native_task(kPlans / all["tasks"][attack["task"].get<std::string>()]);
    ASSERT_TRUE(task.has_value()) << task.error().text();
    bool in_plan = attack["allowed"] == Json::array({"plan_error"});
    std::string attack_trouble = trouble(kPlans / name / "attack.cu", *task);
    EXPECT_EQ(attack_trouble.empty(), !in_plan) << attack_trouble;
    fs::path twin = kPlans / attack.value("twin", name) / "benign.cu";
    EXPECT_EQ(trouble(twin, *task), "") << twin;
    const Json& allowed = attack["allowed"];
    bool timed = std::find(allowed.begin(), allowed.end(), "neutralised") != allowed.end();
    EXPECT_EQ(timed, attack.contains("time_of"));
    if (timed) {
      EXPECT_EQ(trouble(kPlans / attack["time_of"], *task), "");
    }
  }
  EXPECT_GE(folders.size(), 40U);
  for (const auto& entry : fs::directory_iterator(kPlans))
    if (entry.is_directory() && entry.path().filename() != "tasks") {
      EXPECT_TRUE(folders.count(entry.path().filename().string()) == 1) << entry.path();
    }
}

}  // namespace
}  // namespace kp
