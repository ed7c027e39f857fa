#include "verdict/fitness.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "verdict/compare.h"

namespace kp {

namespace {

const std::vector<std::string> kAnswers = {"zeros", "ones", "the mean", "the first input"};

bool passes(const Task& task, const TensorSpec& spec, const DrawnValues& draw,
            const std::vector<double>& values) {
  const LeafError& eager = draw.eager.at(spec.name);
  return compare_leaf(spec, draw.truth.at(spec.name), values, eager.max_abs, eager.rel_l2,
                      task.precision, task.tolerance)
      .ok;
}

const std::vector<double>* first_floating_input(const Task& task, const DrawnValues& draw) {
  for (const auto& t : task.tensors)
    if (t.role == Role::input && is_floating(t.dtype)) return &draw.inputs.at(t.name);
  return nullptr;
}

bool answer_passes(const Task& task, const TensorSpec& spec, const DrawnValues& draw,
                   const std::string& answer) {
  const std::vector<double>& truth = draw.truth.at(spec.name);
  if (truth.empty()) return false;
  if (answer == "the first input") {
    const std::vector<double>* first = first_floating_input(task, draw);
    return first != nullptr && is_floating(spec.dtype) && first->size() == truth.size() &&
           passes(task, spec, draw, *first);
  }
  double value = answer == "ones" ? 1 : 0;
  if (answer == "the mean") {
    if (!is_floating(spec.dtype) || truth.size() == 1) return false;
    value = std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size());
  }
  return passes(task, spec, draw, std::vector<double>(truth.size(), value));
}

std::string in_words(const std::string& answer) {
  if (answer == "the mean") return "an output that is the mean everywhere";
  if (answer == "the first input") return "the first input, returned as it is,";
  return "an output of all " + answer;
}

}  // namespace

std::vector<std::string> trivial_answers(const Task& task, const DrawnValues& draw) {
  std::vector<std::string> found;
  for (const auto& answer : kAnswers) {
    bool all = true;
    for (const auto& t : task.tensors)
      if (t.role == Role::output) all = all && answer_passes(task, t, draw, answer);
    // Where all is 0 or 1, so is the mean.
    if (all && (answer != "the mean" || found.empty())) found.push_back(answer);
  }
  return found;
}

bool passes_for(const Task& task, const DrawnValues& draw, const DrawnValues& other) {
  return std::all_of(task.tensors.begin(), task.tensors.end(), [&](const TensorSpec& t) {
    return t.role != Role::output || passes(task, t, draw, other.truth.at(t.name));
  });
}

Fitness judge_fitness(const std::vector<std::vector<std::string>>& trivial,
                      const std::vector<std::string>& names, bool independent) {
  Fitness fitness;
  bool constant = false;
  for (const auto& answer : kAnswers) {
    std::vector<std::string> where;
    for (std::size_t i = 0; i < trivial.size(); ++i)
      if (std::find(trivial[i].begin(), trivial[i].end(), answer) != trivial[i].end())
        where.push_back(names[i]);
    if (where.empty()) continue;
    if (trivial.size() == 1 && answer == "the first input") {
      fitness.notes.push_back(
          in_words(answer) +
          " passes the only draw; more --seeds would tell it from the right answer");
    } else if (where.size() == trivial.size()) {
      constant = constant || answer != "the first input";
      fitness.reasons.push_back(in_words(answer) + " passes");
    } else {
      fitness.notes.push_back(
          fmt::format("{} passes where the inputs are {}; the other draws "
                      "tell it from the right answer",
                      in_words(answer), join(where, ", ")));
    }
  }
  if (independent && !constant)
    fitness.reasons.emplace_back(
        "the outputs do not depend on the inputs: those of one seed pass for the others");
  return fitness;
}

}  // namespace kp
