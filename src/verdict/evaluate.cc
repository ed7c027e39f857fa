#include "verdict/evaluate.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/rng.h"
#include "verdict/support.h"

namespace kp {

namespace {

constexpr Variant kVariants[] = {Variant::own, Variant::signs, Variant::scaled};
constexpr double kPause = 1.0;  // s, before the second try of what the environment refused

// The cache on a full or forbidden disk does not stop a judgement: the build goes elsewhere.
Result<Build> build_anywhere(const Candidate& candidate, BuildOptions options) {
  auto built = build(candidate, options);
  if (built) return built;
  auto folder = TempFolder::make("kernelpro-build");
  if (!folder) return built;
  options.cache = folder->path();
  auto second = build(candidate, options);
  if (!second) return built;
  // The cubin must outlive its folder: only its bytes count from here on.
  static const auto kKept = TempFolder::make("kernelpro-cubins");
  if (!kKept) return built;
  fs::path kept = kKept->path() / (second->key + ".cubin");
  KP_ASSIGN(std::string bytes, read_file(second->cubin));
  KP_TRY(write_file(kept, bytes));
  second->cubin = kept;
  return second;
}

// Two programs that measure on one GPU at once would measure each other. Where there is no lock to
// be had (a forbidden folder, say) the measurement goes on without.
std::unique_ptr<FileLock> take_gpu(const std::string& uuid,
                                   const std::function<void(std::string_view)>& progress) {
  std::error_code ec;
  fs::path file = fs::temp_directory_path(ec) / fmt::format("kernelpro-{}.lock", uuid);
  if (auto lock = FileLock::try_acquire(file)) return std::make_unique<FileLock>(std::move(*lock));
  if (progress) progress("waiting for another kernelpro on this GPU");
  auto lock = FileLock::acquire(file);
  return lock ? std::make_unique<FileLock>(std::move(*lock)) : nullptr;
}

}  // namespace

Result<Evaluator> Evaluator::start(const fs::path& task, const OracleOptions& oracle_options,
                                   const RunnerOptions& runner_options,
                                   const EvaluateOptions& options) {
  Stopwatch watch;
  Runner runner(runner_options);
  if (options.progress) options.progress("start runner and oracle");
  std::vector<std::pair<std::string, double>> setup;
  auto started = std::async(std::launch::async, [&] { return runner.device(); });
  OracleOptions fixed = oracle_options;
  // What needs the GPU waits for its turn; importing PyTorch does not.
  std::optional<Result<DeviceInfo>> device;
  std::unique_ptr<FileLock> alone;
  fixed.before_device = [&] {
    device = started.get();
    if (*device && !options.shared_gpu) alone = take_gpu((*device)->uuid, options.progress);
  };
  // An oracle that is started again makes the same parameters.
  if (!fixed.init_seed) fixed.init_seed = secret_seed();
  auto opened = Oracle::start(task, fixed);
  setup.emplace_back("start oracle", watch.seconds());
  if (!device) device = started.get();
  if (!*device) return tl::make_unexpected(device->error());
  if (!opened) return tl::make_unexpected(opened.error());
  fixed.before_device = {};
  Oracle oracle = std::move(*opened);
  for (const auto& [stage, s] : oracle.last_stages()) setup.emplace_back("  oracle " + stage, s);
  Evaluator evaluator(task, std::move(fixed), std::move(oracle), std::move(runner), options);
  evaluator.device_ = std::move(**device);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(1, options.seeds)); ++i)
    evaluator.trials_.push_back({secret_seed(), kVariants[i % std::size(kVariants)]});
  evaluator.setup_ = std::move(setup);
  KP_TRY(evaluator.prepare());
  if (options.keep_gpu) evaluator.held_ = std::move(alone);
  return evaluator;
}

Status Evaluator::draw_all() {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    const Trial& trial = trials_[i];
    if (options_.progress) options_.progress(fmt::format("truth of draw {}", i + 1));
    Stopwatch watch;
    auto draw = oracle_.draw(trial.seed, trial.variant, spill_);
    if (!draw && !spill_ && oracle_.failure_kind() == "out_of_memory") {
      // Everything anew, in less memory: the runner's share too.
      spill_ = true;
      KP_TRY(oracle_.close_outputs());
      KP_TRY(runner_.release());
      return draw_all();
    }
    if (!draw) return tl::make_unexpected(draw.error());
    setup_.emplace_back(fmt::format("draw {} ({})", i + 1, name_of(draw->variant)),
                        watch.seconds());
    for (const auto& [stage, s] : oracle_.last_stages())
      setup_.emplace_back("  oracle " + stage, s);
  }
  return {};
}

// What a new oracle must know and do before it can compare.
Status Evaluator::brief_oracle() {
  KP_ASSIGN(fs::path support, build_support(device_.arch()));
  KP_TRY(oracle_.use_support(support));
  KP_TRY(draw_all());
  Stopwatch watch;
  KP_TRY(oracle_.check_fitness());
  setup_.emplace_back("fitness", watch.seconds());
  return {};
}

Status Evaluator::prepare() {
  KP_TRY(brief_oracle());
  if (!options_.timing) return {};
  if (options_.progress) options_.progress("time baselines");
  Stopwatch watch;
  KP_ASSIGN(baselines_, oracle_.time_baselines(trials_.front().seed, options_.timing_budget_s));
  setup_.emplace_back("time baselines", watch.seconds());
  return {};
}

// The same draws in a new oracle, where the old one has ended.
Status Evaluator::revive() {
  if (oracle_.alive()) return {};
  KP_ASSIGN(oracle_, Oracle::start(task_path_, oracle_options_));
  return brief_oracle();
}

BuildOptions Evaluator::build_options() const {
  BuildOptions options;
  options.arch = device_.arch();
  options.timeout_s = options_.compile_timeout_s;
  return options;
}

void Evaluator::expect(const Candidate& candidate) {
  if (builds_.count(candidate.source) != 0) return;
  builds_.emplace(candidate.source,
                  std::async(std::launch::async, [candidate, options = build_options()] {
                    return build_anywhere(candidate, options);
                  }));
}

Result<Build> Evaluator::finish_build(const Candidate& candidate) {
  auto it = builds_.find(candidate.source);
  if (it == builds_.end()) return build_anywhere(candidate, build_options());
  auto built = it->second.get();
  builds_.erase(it);
  return built;
}

std::unique_ptr<FileLock> Evaluator::take_turn() const {
  return held_ || options_.shared_gpu ? nullptr : take_gpu(device_.uuid, options_.progress);
}

Result<Verdict> Evaluator::evaluate(const Candidate& candidate) {
  auto turn = take_turn();
  for (int attempt = 1;; ++attempt) {
    // Where there is no runner or oracle for the moment, the second try waits for it.
    if (attempt > 1) std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
    auto alive = revive();
    if (!alive && attempt > 2) return tl::make_unexpected(alive.error());
    if (!alive) continue;
    Bench bench{oracle_, runner_, device_, options_, trials_, baselines_, spill_};
    auto judged = judge(bench, candidate, [&] { return finish_build(candidate); });
    if (!runner_.alive() && oracle_.alive()) (void)oracle_.close_outputs();
    bool again = attempt == 1 && (!judged || judged->runner_died);
    if (!again && !judged) return tl::make_unexpected(judged.error());
    if (!again) return std::move(judged->verdict);
  }
}

}  // namespace kp
