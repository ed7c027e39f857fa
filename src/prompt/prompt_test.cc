#include "prompt/prompt.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/assets.h"
#include "base/files.h"
#include "base/text.h"
#include "build/toolkit.h"
#include "prompt/words.h"

namespace kp {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << text

// The whole text against tests/data/golden/prompt_NAME.txt; KERNELPRO_ACCEPT=1 rewrites the file.
void expect_golden(const std::string& name, const Prompt& prompt) {
  std::string text =
      fmt::format("===== SYSTEM =====\n{}\n===== USER =====\n{}", prompt.system, prompt.user);
  fs::path file =
      fs::path(KERNELPRO_SOURCE_DIR) / "tests/data/golden" / ("prompt_" + name + ".txt");
  if (std::getenv("KERNELPRO_ACCEPT") != nullptr) {
    ASSERT_TRUE(write_file(file, text));
    return;
  }
  auto golden = read_file(file);
  ASSERT_TRUE(golden) << golden.error().message << "\nKERNELPRO_ACCEPT=1 makes it";
  auto want = lines_of(*golden);
  auto have = lines_of(text);
  for (std::size_t i = 0; i < std::min(want.size(), have.size()); ++i)
    ASSERT_EQ(have[i], want[i]) << file << ":" << i + 1 << " (KERNELPRO_ACCEPT=1 accepts)";
  EXPECT_EQ(have.size(), want.size()) << file;
}

TensorSpec tensor(const std::string& name, Role role, std::vector<std::int64_t> shape,
                  const std::string& origin, DType dtype = DType::f32) {
  TensorSpec t;
  t.name = name;
  t.role = role;
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.strides.assign(t.shape.size(), 1);
  for (std::size_t i = t.shape.size(); i-- > 1;) t.strides[i - 1] = t.strides[i] * t.shape[i];
  t.origin = origin;
  return t;
}

// A made-up task: leaky ReLU after a linear layer, with a transposed weight.
Task linear_task() {
  Task task;
  task.name = "7_Linear_LeakyReLU";
  task.reference_source =
      "import torch\n\nclass Model(torch.nn.Module):\n    def __init__(self, n, k, slope):\n"
      "        super().__init__()\n        self.fc = torch.nn.Linear(k, n)\n"
      "        self.slope = slope\n\n    def forward(self, x):\n"
      "        return torch.nn.functional.leaky_relu(self.fc(x), self.slope)\n";
  TensorSpec weight = tensor("fc_weight", Role::parameter, {4096, 1024}, "fc.weight");
  weight.strides = {1, 4096};
  task.tensors = {tensor("x", Role::input, {512, 1024}, "forward(x)"), weight,
                  tensor("fc_bias", Role::parameter, {4096}, "fc.bias"),
                  tensor("out", Role::output, {512, 4096}, "output[0]")};
  task.scalars = {{"slope", "self.slope", false, 0.01}, {"groups", "groups", true, 4}};
  add_tensor_sizes(task);
  task.work = {27279360, 4294967296.0, 4194304};
  task.notes = {"the input is drawn on the GPU"};
  return task;
}

Task softmax_task() {
  Task task;
  task.name = "row_softmax";
  task.kind = TaskKind::native;
  task.reference_source = "/* plan\n{\"steps\": []}\n*/\n// real is float\n";
  task.tensors = {tensor("x", Role::input, {4096, 8192}, ""),
                  tensor("y", Role::output, {4096, 8192}, "")};
  task.sizes = {{"B", 4096}, {"N", 8192}};
  add_tensor_sizes(task);
  task.tolerance = Tolerance{1e-5, 1e-5};
  return task;
}

DeviceInfo h200() {
  DeviceInfo d;
  d.name = "NVIDIA H200";
  d.cc_major = 9;
  d.sms = 132;
  d.max_threads_per_sm = 2048;
  d.max_blocks_per_sm = 32;
  d.registers_per_sm = 65536;
  d.smem_per_sm = 233472;
  d.l2_bytes = 62914560;
  d.memory_bytes = 150121545728;
  d.limits.max_dynamic_smem = 232448;
  return d;
}

Ceilings ceilings() {
  Ceilings c;
  c.dram_gbs = 4280;
  c.l2_gbs = 7000;
  c.fp32_tflops = 60.5;
  c.tf32_tflops = 400;
  c.launch_us = 2.1;
  return c;
}

Roofline roofline() {
  Roofline r;
  r.bound = BoundClass::compute;
  r.speed_of_light_ms = 0.071;
  r.memory_ms = 0.0064;
  r.compute_ms = 0.071;
  r.launch_ms = 0.0021;
  r.why = "Matrix work at FP32 rates outweighs the traffic.";
  return r;
}

Candidate candidate() {
  Candidate c;
  c.source =
      "/* plan\n{\"steps\": [{\"kernel\": \"k\", \"grid\": [8], \"block\": [256], \"args\": "
      "[\"x\", \"out\"]}]}\n*/\nextern \"C\" __global__ void k(const float* x, float* out) {\n"
      "  out[threadIdx.x] = x[threadIdx.x] && true;  // <&>\n}\n";
  c.id = "0a1b2c3d4e5f";
  return c;
}

Verdict good_verdict() {
  Verdict v;
  v.accuracy_class = "fp32-equivalent";
  Timing t;
  t.median_ms = 0.2345678;
  t.samples = 120;
  t.mode = "graph";
  v.timing = t;
  t.median_ms = 0.3;
  v.baselines = {{"eager", t}};
  LeafError leaf;
  leaf.tensor = "out";
  leaf.ok = true;
  leaf.max_abs = 1.5e-6;
  leaf.eager_max_abs = 1.2e-6;
  leaf.rel_l2 = 2e-7;
  leaf.eager_rel_l2 = 2e-7;
  v.leaves = {leaf};
  Build b;
  b.ok = true;
  KernelResources k;
  k.params.kernel = "k";
  k.registers = 40;
  k.params.static_smem = 1024;
  k.spill_store_bytes = 8;
  k.spill_load_bytes = 16;
  b.kernels = {k};
  v.build = b;
  return v;
}

// Pointers into static values, so that a test only says what it changes.
PromptInput improve_input() {
  static const Task kTask = linear_task();
  static const DeviceInfo kDevice = h200();
  static const Ceilings kCeilings = ceilings();
  static const Roofline kRoofline = roofline();
  static const Candidate kCandidate = candidate();
  static const Verdict kVerdict = good_verdict();
  PromptInput input;
  input.act = Act::improve;
  input.task = &kTask;
  input.device = &kDevice;
  input.ceilings = &kCeilings;
  input.roofline = &kRoofline;
  input.parent = &kCandidate;
  input.verdict = &kVerdict;
  for (int i = 1; i <= 3; ++i) {
    Directive d;
    d.id = fmt::format("d{}", i);
    d.title = fmt::format("Directive title {}", i);
    d.text =
        fmt::format("**Do**: thing {}.\n**Why**: 12 % of <peak> & \"more\" {{{{not a tag}}}}.", i);
    input.directives.push_back(d);
  }
  input.follow = 1;
  input.attempts = {{"aaa", "tile the weights", "1.1x, correct"},
                    {"bbb", "", "incorrect: out[3,5] is 0, expected 1.5"}};
  return input;
}

TEST(Prompt, GoldenSeed) {
  PromptInput input = improve_input();
  input.act = Act::seed;
  input.directives.clear();
  input.attempts.clear();
  input.variation = seed_variations().at(0);
  expect_golden("seed", make_prompt(input, 0));
}

TEST(Prompt, GoldenSeedNative) {
  Task task = softmax_task();
  PromptInput input;
  input.task = &task;
  expect_golden("seed_native", make_prompt(input, 0));
}

TEST(Prompt, GoldenImproveWithCutlass) {
  PromptInput input = improve_input();
  input.cutlass = true;
  Prompt prompt = make_prompt(input, 0);
  EXPECT_TRUE(prompt.cut.empty());
  expect_golden("improve", prompt);
}

TEST(Prompt, GoldenRepairOfACompileError) {
  PromptInput input = improve_input();
  input.act = Act::repair;
  Verdict v;
  v.outcome = Outcome::compile_error;
  v.reason = "2 errors";
  Build b;
  b.diagnostics = {
      {Diagnostic::Severity::error, 5, 0, "", "expression must be a modifiable lvalue"},
      {Diagnostic::Severity::warning, 4, 0, "", "a warning that is left out"},
      {Diagnostic::Severity::error, 12, 0, "cuda_fp16.h", "an error in a header"}};
  v.build = b;
  input.verdict = &v;
  expect_golden("repair_compile", make_prompt(input, 0));
}

TEST(Prompt, RepairSaysWhatFailed) {
  PromptInput input = improve_input();
  input.act = Act::repair;
  Verdict v;
  input.verdict = &v;
  LeafError leaf;
  leaf.tensor = "out";
  leaf.worst_index = {3, 5};
  leaf.expected = 1.5;
  leaf.outside = 0.25;
  leaf.reason = "outside the tolerance";
  v.leaves = {leaf};
  v.outcome = Outcome::incorrect;
  v.reason = "out is off";
  std::string text = make_prompt(input, 0).user;
  EXPECT_SAYS(text, "its result is wrong. out is off.");
  EXPECT_SAYS(text, "at [3, 5] it is 0, expected 1.5; 25 % of the elements");
  v.leaves.clear();
  v.outcome = Outcome::crashed;
  v.reason = "illegal memory access";
  EXPECT_SAYS(make_prompt(input, 0).user, "crashed on the device. illegal memory access.");
  v.outcome = Outcome::timed_out;
  v.reason = "the kernels did not end within 5 s";
  EXPECT_SAYS(make_prompt(input, 0).user, "was killed. the kernels did not end within 5 s.");
  v.outcome = Outcome::plan_error;
  v.detail = "step 1 (k): 3 arguments, the kernel has 2 parameters";
  EXPECT_SAYS(make_prompt(input, 0).user, "```\nstep 1 (k): 3 arguments");
  EXPECT_FALSE(contains(make_prompt(input, 0).user, "Follow directive"));
}

// Every cut in its order: attempts (oldest first), directives (never the one to follow), details.
TEST(Prompt, BudgetCutsInOrder) {
  PromptInput input = improve_input();
  Prompt whole = make_prompt(input, 0);
  std::vector<std::string> seen;
  Prompt last;
  int budget = whole.estimated_tokens;
  for (int round = 0; round < 20; ++round) {
    Prompt p = make_prompt(input, budget);
    std::string cut = join(p.cut, "; ");
    EXPECT_SAYS(p.user, "&& true;  // <&>");           // the parent's source
    EXPECT_SAYS(p.user, "self.fc = torch.nn.Linear");  // the task
    EXPECT_SAYS(p.user, "Directive title 2 (follow this one first)");
    EXPECT_EQ(p.system, whole.system);
    if (contains(cut, "nothing more can be cut")) {
      EXPECT_GT(p.estimated_tokens, budget);
      last = p;
      break;
    }
    EXPECT_LE(p.estimated_tokens, budget);
    seen.push_back(cut);
    budget = p.estimated_tokens - 1;  // the next one has to go
  }
  ASSERT_GE(seen.size(), 4U);
  EXPECT_EQ(seen[0], "");
  EXPECT_EQ(seen[1], "the 1 oldest of 2 attempts");
  EXPECT_EQ(seen[2], "the 2 oldest of 2 attempts");
  EXPECT_EQ(seen[3], "the 2 oldest of 2 attempts; directive 3 (Directive title 3)");
  EXPECT_EQ(seen.size(), 6U);  // the last is without directive 1, then without details
  EXPECT_SAYS(join(last.cut, "; "), "directive 1 (Directive title 1)");
  EXPECT_SAYS(join(last.cut, "; "), "the details of the verdict");
  EXPECT_FALSE(contains(last.user, "registers a thread,"));
  EXPECT_FALSE(contains(last.user, "What was tried"));
}

TEST(Prompt, TokensAreCharactersOver3Point5) {
  PromptInput input = improve_input();
  Prompt p = make_prompt(input, 0);
  double characters = static_cast<double>(p.system.size() + p.user.size());
  EXPECT_EQ(p.estimated_tokens, static_cast<int>(std::ceil(characters / 3.5)));
  EXPECT_EQ(to_json(p)["act"], "improve");
  EXPECT_EQ(p.temperature, 0.7);
}

TEST(Prompt, LongDetailsAreShortened) {
  Verdict v;
  v.outcome = Outcome::crashed;
  for (int i = 0; i < 5000; ++i) v.detail += fmt::format("line {}\n", i);
  std::string text = details_in_words(v, "", 6000);
  EXPECT_LT(text.size(), 6100U);
  EXPECT_TRUE(ends_with(text, "\n(cut)"));
  v.detail = std::string(99, 'a') + "\xC3\xBC" + std::string(99, 'b');
  EXPECT_EQ(details_in_words(v, "", 100), std::string(99, 'a') + "\n(cut)");
}

// Source that holds fences and mustache tags comes through as it is.
TEST(Prompt, SourceIsNeverTouched) {
  PromptInput input = improve_input();
  Candidate c = candidate();
  c.source = "/* plan {} */\n// ```cuda {{task}} {{{id}}} {{#x}}\nint a[1][1] = {{1}};";
  input.parent = &c;
  EXPECT_SAYS(make_prompt(input, 0).user, "````cuda\n" + c.source + "\n````\n");
}

TEST(Prompt, WithoutDirectivesAndExtras) {
  PromptInput input = improve_input();
  input.directives.clear();
  input.attempts.clear();
  input.device = nullptr;
  input.ceilings = nullptr;
  input.roofline = nullptr;
  std::string text = make_prompt(input, 0).user;
  EXPECT_SAYS(text, "Make the candidate above faster");
  for (const char* heading : {"# What its profile says", "# What was tried", "## The device",
                              "## Speed of light", "Follow directive"})
    EXPECT_FALSE(contains(text, heading)) << heading;
}

// The examples that models copy from must be what the plan's reader and resolver accept.
TEST(Prompt, ExamplesAreValidCandidates) {
  Task task;
  task.tensors = {tensor("x", Role::input, {64, 96}, ""), tensor("y", Role::output, {64, 96}, "")};
  task.scalars = {{"eps", "eps", false, 1e-5}};
  add_tensor_sizes(task);
  for (const char* name : {"prompts/example.cu", "prompts/cutlass_example.cu"}) {
    auto parsed = parse_candidate(asset(name), name);
    ASSERT_TRUE(parsed) << parsed.error().text();
    auto resolved = resolve(parsed->plan, task);
    ASSERT_TRUE(resolved) << resolved.error().text();
  }
  PromptInput input;
  input.task = &task;
  EXPECT_FALSE(contains(make_prompt(input, 0).system, "cute::"));
  input.cutlass = true;
  EXPECT_SAYS(make_prompt(input, 0).system, "TmaDescriptor x_tiles");
}

TEST(Prompt, ExamplesCompile) {
  Toolkit toolkit = find_toolkit();
  if (toolkit.nvrtc.empty()) GTEST_SKIP() << "no NVRTC on this machine";
  ::setenv("KERNELPRO_PROGRAM", KERNELPRO_BINARY, 1);  // the compile process
  auto cache = TempFolder::make("kp-prompt").value();
  std::vector<const char*> names = {"prompts/example.cu"};
  if (!toolkit.cutlass_include.empty()) names.push_back("prompts/cutlass_example.cu");
  for (const char* name : names) {
    Candidate candidate = parse_candidate(asset(name), name).value();
    BuildOptions options;
    options.cache = cache.path();
    options.timeout_s = 200;
    auto built = build(candidate, options);
    ASSERT_TRUE(built) << built.error().text();
    ASSERT_TRUE(built->ok) << name << "\n" << built->log;
    // As the runner checks it: the parameters have the sizes that the plan passes.
    Task task;
    task.tensors = {tensor("x", Role::input, {64, 96}, ""),
                    tensor("y", Role::output, {64, 96}, "")};
    task.scalars = {{"eps", "eps", false, 1e-5}};
    std::vector<KernelParams> params;
    for (const auto& k : built->kernels) params.push_back(k.params);
    auto fits = check_plan(resolve(candidate.plan, task).value(), params, h200().limits);
    EXPECT_TRUE(fits) << fits.error().text();
  }
}

TEST(Prompt, VariationsDiffer) {
  auto variations = seed_variations();
  ASSERT_GE(variations.size(), 6U);
  for (const auto& v : variations) {
    EXPECT_FALSE(starts_with(v, "#"));
    EXPECT_GT(v.size(), 60U);
    EXPECT_EQ(std::count(variations.begin(), variations.end(), v), 1);
  }
}

TEST(Prompt, NumbersInWords) {
  EXPECT_EQ(bytes_in_words(6442450944.0), "6.44 GB");
  EXPECT_EQ(bytes_in_words(12), "12 bytes");
  EXPECT_EQ(flops_in_words(1.1e12), "1.1 TFLOP");
  EXPECT_EQ(shape_in_words({}), "()");
  EXPECT_EQ(fence_for("a ```` b"), "`````");
}

}  // namespace
}  // namespace kp
