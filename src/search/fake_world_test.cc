#include "search/fake_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"

namespace kp {

std::string FakeKernel::source() const {
  std::string_view plan =
      bug == 3 ? R"({"steps": [{"kernel": "k", "grids": 7}]})"
               : R"({"steps": [{"kernel": "k", "grid": [1], "block": [1], "args": ["x", "y"]}]})";
  return fmt::format(
      "/* plan\n{}\n*/\n"
      "// kWidth = {}; kTile = {}; kStages = {}; kBug = {};\n"
      "extern \"C\" __global__ void k(const float* x, float* y) {{ y[0] = x[0]; }}\n",
      plan, width, tile, stages, bug);
}

FakeKernel FakeKernel::read(std::string_view text) {
  auto number = [&](std::string_view name) {
    std::size_t at = text.rfind(fmt::format("{} = ", name));
    return at == std::string_view::npos ? 0 : text[at + name.size() + 3] - '0';
  };
  return {number("kWidth"), number("kTile"), number("kStages"), number("kBug")};
}

Result<std::optional<Reply>> FakeProvider::ask(const Call& call) {
  asked.push_back(call.id);
  if (before_reply) before_reply();
  for (const std::string& id : {call.id, std::string("*")})
    if (auto it = failing.find(id); it != failing.end() && it->second > 0) {
      --it->second;
      return fail("the model does not answer", "look at the network");
    }
  if (!waits && !arrived.contains(call.id)) return std::optional<Reply>();
  Reply reply;
  reply.model = "fake";
  reply.tokens_in = reply.tokens_out = tokens;
  reply.seconds = 0.5;
  if (unreadable.contains(call.id)) {
    reply.text = "I cannot do that.";
    return std::optional<Reply>(reply);
  }
  std::uint64_t hash =
      std::stoull(sha256_hex(call.prompt.user + call.id).substr(0, 15), nullptr, 16);
  Rng rng(hash);
  FakeKernel kernel = FakeKernel::read(call.prompt.user);
  auto draw = [&] { return static_cast<int>(rng.below(4)); };
  if (call.prompt.act == Act::seed) kernel = {draw() / 2, draw() / 2, draw() / 2, 0};
  if (call.prompt.act == Act::improve) {
    int* constants[] = {&kernel.width, &kernel.tile, &kernel.stages};
    int& one = *constants[rng.below(3)];
    one = std::min(3, one + 1);
  }
  kernel.bug = static_cast<int>(rng.below(100)) < bug_percent ? 1 + draw() % 3 : 0;
  reply.text = fmt::format("IDEA: constants {} {} {}\n```cuda\n{}```\n", kernel.width, kernel.tile,
                           kernel.stages, kernel.source());
  return std::optional<Reply>(reply);
}

FakeWorld::FakeWorld() {
  task_.name = "copy";
  task_.path = "copy.toml";
  task_.kind = TaskKind::native;
  task_.reference_source = FakeKernel{}.source();
  for (auto [name, role] : {std::pair("x", Role::input), std::pair("y", Role::output)}) {
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = {1024};
    tensor.strides = {1};
    tensor.role = role;
    task_.tensors.push_back(tensor);
  }
  device_.name = "Fake GPU";
  roofline_.bound = BoundClass::memory;
  roofline_.speed_of_light_ms = 2;
  roofline_.why = "it must move 8 KB";
}

Result<Verdict> FakeWorld::evaluate(const Candidate& candidate) {
  if (evaluate_errors > 0) {
    --evaluate_errors;
    return fail("the GPU has fallen off the bus", "restart the machine");
  }
  ++evaluated[candidate.id];
  FakeKernel kernel = FakeKernel::read(candidate.source);
  Verdict verdict;
  verdict.stages = {{"build", 0.25}, {"run", 0.5}};
  verdict.seeds = 3;
  Baseline baseline;
  baseline.name = "reference";
  baseline.timing.median_ms = 10;
  baseline.timing.samples = 50;
  verdict.baselines = {baseline};
  if (kernel.bug != 0) {
    verdict.outcome = kernel.bug == 1   ? Outcome::compile_error
                      : kernel.bug == 4 ? Outcome::dishonest
                                        : Outcome::incorrect;
    verdict.reason = kernel.bug == 1 ? "line 5: expected a ';'" : "y[3] is 0, expected 1.5";
    return verdict;
  }
  verdict.accuracy_class = "fp32-equivalent";
  Timing timing;
  timing.median_ms = kernel.ms();
  timing.mad_ms = 0.01;
  timing.ci95_ms = {kernel.ms() - 0.02, kernel.ms() + 0.02};
  timing.samples = 50;
  timing.mode = "stream";
  verdict.timing = timing;
  verdict.timings = {timing};
  return verdict;
}

Result<Diagnosis> FakeWorld::diagnose(const Candidate& candidate, const Verdict& verdict) {
  if (diagnose_errors > 0) {
    --diagnose_errors;
    return fail("the counters are busy", "end the other profiler");
  }
  KP_CHECK(verdict.correct());
  diagnosed.push_back(static_cast<NodeId>(diagnosed.size()));
  FakeKernel kernel = FakeKernel::read(candidate.source);
  Diagnosis diagnosis;
  diagnosis.profile.roofline = roofline_;
  diagnosis.profile.roofline.why = fmt::format("{} of 3 wide", kernel.width);
  auto advise = [&](const char* tool, const char* title, int level, double gain) {
    if (level >= 3) return;
    Directive d;
    d.id = fmt::format("d{}", diagnosis.directives.size() + 1);
    d.tool = tool;
    d.cause = "low";
    d.kernel = "k";
    d.title = title;
    d.text = std::string(title) + " by one.";
    d.predicted_gain = gain;
    d.confidence = 0.8;
    diagnosis.directives.push_back(d);
  };
  advise("vectorization", "Raise kWidth", kernel.width, 1.6);
  advise("high_dram_throughput", "Raise kTile", kernel.tile, 1.3);
  advise("warp_stall", "Raise kStages", kernel.stages, 1.2);
  return diagnosis;
}

void FakeWorld::on_judged(const RunState& state, NodeId node) {
  if (when_judged) when_judged(state, node);
}

std::string digest(const RunState& state) {
  std::string text =
      fmt::format("best {} iteration {} tokens {} {}\n", state.tree.best().value_or(-1),
                  state.iteration, state.tokens_in, state.tokens_out);
  for (const Node& n : state.tree.nodes())
    text += fmt::format("{} under {} {} d{} it{} {} x{:.6f} r{:.6f} w{:.6f} v{} s{:.6f} [{}] {}\n",
                        n.id, n.parent, name_of(n.act), n.directive, n.iteration, n.candidate,
                        n.speedup, n.reward, n.weight, n.visits, n.reward_sum, n.closed,
                        state.record(n.id).idea);
  for (const CallRecord& c : state.calls)
    text += fmt::format("call {} {} {}\n", c.id, static_cast<int>(c.status), c.failures);
  for (const LedgerRow& r : state.ledger.rows())
    text +=
        fmt::format("{}/{} {} {} {:.6f}\n", r.tool, r.bound, r.followed, r.measured, r.log_ratio);
  return text;
}

TempFolder memory_folder(const std::string& name) {
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  return std::move(*TempFolder::make(name));
}

SearchOptions small_options() {
  SearchOptions options;
  options.seeds = 4;
  options.budget.iterations = 6;
  return options;
}

namespace {

TEST(FakeWorld, SourcesSayTheirConstants) {
  FakeKernel kernel = FakeKernel::read("text " + FakeKernel{1, 2, 3, 2}.source());
  EXPECT_EQ(kernel.width, 1);
  EXPECT_EQ(kernel.tile, 2);
  EXPECT_EQ(kernel.stages, 3);
  EXPECT_EQ(kernel.bug, 2);
  EXPECT_DOUBLE_EQ((FakeKernel{3, 3, 3, 0}).ms(), 2.5);
}

}  // namespace
}  // namespace kp
