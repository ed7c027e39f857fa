// Fuzzes the readers of text from outside: expressions, plans with all that follows until the
// check before a launch, resolved plans, native tasks. The first byte picks the reader. Built and
// run by run.sh beside it; needs clang's libFuzzer and so is no part of the ordinary tests.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "candidate/candidate.h"
#include "candidate/resolve.h"
#include "task/check.h"
#include "task/expression.h"
#include "task/native.h"

namespace {

using namespace kp;

Task example_task() {
  Task task;
  task.kind = TaskKind::native;
  for (auto [name, role] :
       {std::pair("x", Role::input), {"w", Role::parameter}, {"out", Role::output}}) {
    TensorSpec tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.shape = {8, 64};
    tensor.strides = {64, 1};
    task.tensors.push_back(tensor);
  }
  task.sizes = {{"N", 64}, {"B", 8}};
  task.scalars = {{"eps", "eps", false, 1e-5}};
  return task;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void fuzz_candidate(std::string_view text, const Task& task) {
  auto candidate = parse_candidate(join_candidate("", text), "fuzz.cu");
  if (!candidate) {
    require(!candidate.error().message.empty());
    return;
  }
  auto again = parse_plan(to_json(candidate->plan), "again");
  require(again.has_value());
  require(dump_json(to_json(*again)) == dump_json(to_json(candidate->plan)));
  for (bool promote : {false, true}) {
    auto plan = resolve(candidate->plan, task, promote);
    if (!plan || plan->steps.size() > 1000) continue;
    auto back = resolved_plan_from_json(to_json(*plan));
    require(back.has_value());
    require(dump_json(to_json(*back)) == dump_json(to_json(*plan)));
    (void)check_plan(*plan, {{"k", {8, 4}, 256, 0}}, {});
  }
}

void fuzz_native(std::string_view text) {
  static const TempFolder folder = TempFolder::make("fuzz").value();
  static const fs::path path = folder.path() / "task.toml";
  static const bool reference = write_file(folder.path() / "k.cu", "").has_value();
  require(reference);
  require(write_file(path, text).has_value());
  auto task = load_native_task(path);
  if (!task) return;
  auto again = task_from_json(to_json(*task));
  require(again.has_value());
  require(dump_json(to_json(*again)) == dump_json(to_json(*task)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Task task = example_task();
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      (void)evaluate(text, task.sizes);
      break;
    case 1:
      fuzz_candidate(text, task);
      break;
    case 2:
      if (auto json = parse_json(text, "fuzz")) {
        (void)resolved_plan_from_json(*json);
        (void)task_from_json(*json);
      }
      break;
    default:
      fuzz_native(text);
  }
  return 0;
}
