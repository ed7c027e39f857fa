#include "verdict/fitness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kp {
namespace {

using Answers = std::vector<std::string>;

Task relu() {
  Task task;
  for (const char* name : {"x", "y"}) {
    TensorSpec t;
    t.name = name;
    t.dtype = DType::f32;
    t.shape = {64};
    t.strides = {1};
    t.role = *name == 'x' ? Role::input : Role::output;
    task.tensors.push_back(t);
  }
  return task;
}

// x = first + i * step, y = max(x, 0)
DrawnValues drawn(double first, double step) {
  DrawnValues draw;
  for (int i = 0; i < 64; ++i) {
    draw.inputs["x"].push_back(first + i * step);
    draw.truth["y"].push_back(std::max(0.0, first + i * step));
  }
  draw.eager["y"] = LeafError{};
  return draw;
}

TEST(Fitness, AnswersThatAskForNoWork) {
  Task task = relu();
  EXPECT_EQ(trivial_answers(task, drawn(1, 0.5)), Answers{"the first input"});
  EXPECT_EQ(trivial_answers(task, drawn(-16, 0.5)), Answers{});
  EXPECT_EQ(trivial_answers(task, drawn(-100, 0.5)), Answers{"zeros"});
  EXPECT_EQ(trivial_answers(task, drawn(1, 0)), (Answers{"ones", "the first input"}));
  task.tolerance = Tolerance{100, 0};
  EXPECT_EQ(trivial_answers(task, drawn(-16, 0.5)).size(), 3u);
}

TEST(Fitness, JudgedOverAllDraws) {
  // A ReLU of positive numbers is its input; the signed draw tells it apart.
  Fitness fit = judge_fitness({{"the first input"}, {}, {"the first input"}},
                              {"own", "signed", "scaled"}, false);
  EXPECT_TRUE(fit.reasons.empty());
  ASSERT_EQ(fit.notes.size(), 1u);
  EXPECT_NE(fit.notes[0].find("own, scaled"), std::string::npos) << fit.notes[0];
  Fitness unfit =
      judge_fitness({{"the first input"}, {"the first input"}}, {"own", "scaled"}, false);
  ASSERT_EQ(unfit.reasons.size(), 1u);
  EXPECT_NE(unfit.reasons[0].find("first input"), std::string::npos);
  EXPECT_TRUE(judge_fitness({}, {}, false).reasons.empty());
  // A single draw, as for profiling, cannot tell; a constant is refused all the same.
  EXPECT_TRUE(judge_fitness({{"the first input"}}, {"own"}, false).reasons.empty());
  EXPECT_FALSE(judge_fitness({{"zeros"}}, {"own"}, false).reasons.empty());
}

TEST(Fitness, OutputsThatDoNotDependOnTheInputs) {
  Task task = relu();
  EXPECT_TRUE(passes_for(task, drawn(-100, 0.5), drawn(-200, 0.5)));
  EXPECT_FALSE(passes_for(task, drawn(1, 0.5), drawn(2, 0.5)));
  EXPECT_EQ(judge_fitness({{}, {}}, {"own", "own"}, true).reasons.size(), 1u);
  // Said once: all zeros are independent too.
  EXPECT_EQ(judge_fitness({{"zeros"}, {"zeros"}}, {"own", "own"}, true).reasons.size(), 1u);
}

}  // namespace
}  // namespace kp
