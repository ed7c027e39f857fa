#include "verdict/time_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "device/nvml.h"
#include "verdict/rounds.h"
#include "verdict/timing.h"

namespace kp {

namespace {

constexpr int kRedoAtMost = 5;
constexpr double kRedoAfter = 0.2;      // s, for the device to recover
constexpr int kExtraSamples = 8;        // warm, wall, kept
constexpr double kExtraBudget = 0.03;   // s, of each of them: slow kernels get fewer
constexpr double kKeptGain = 1.10;      // fresh over kept at which it cannot be chance
constexpr double kKeptLeastMs = 0.002;  // differences below this are the events' own
constexpr double kClockRatio = 1.5;     // host over events
constexpr double kClockGapMs = 1;       // launches and the end's notice, generously
constexpr double kManyBudget = 0.03;    // s, of calls in a row
constexpr double kManyCalls = 1000;
constexpr double kEnergyTimeout = 30;  // s

class Timer {
 public:
  Timer(const Bench& bench, const Trial& own, Verdict& verdict, const TimeHooks& hooks)
      : bench_(bench), own_(own), verdict_(verdict), hooks_(hooks) {}

  Status go() {
    RoundPolicy policy;
    policy.budget_s = bench_.options.timing_budget_s;
    Sides sides;
    sides.stream = [this](int count) { return take("stream", "cold", count); };
    KP_ASSIGN(bool graph, can_be_captured());
    if (!verdict_.correct()) return {};
    if (graph) sides.graph = [this](int count) { return take("graph", "cold", count); };
    if (!bench_.spill && !bench_.baselines.empty())
      sides.baseline = [this](int count) { return take_baseline(count); };
    KP_ASSIGN(auto samples, measure_rounds(policy, sides));
    if (!samples) return {};
    record(*samples);
    for (auto step : {&Timer::other_ways, &Timer::check_kept, &Timer::check_many_calls,
                      &Timer::check_floor, &Timer::energy}) {
      KP_ASSIGN(bool fine, (this->*step)());
      if (!fine) break;
    }
    return {};
  }

 private:
  using Samples = std::optional<std::vector<double>>;

  // nullopt: a fault was recorded.
  Result<Samples> take(std::string_view mode, std::string_view sample, int count) {
    for (int attempt = 0;; ++attempt) {
      KP_ASSIGN(
          RunnerAnswer answer,
          bench_.runner.time(mode, sample, count, bench_.options.run_timeout_s * (count + 1)));
      if (answer.kind != RunnerAnswer::Kind::ok) {
        hooks_.broke(answer);
        return Samples();
      }
      KP_ASSIGN(bool honest, check(answer.body));
      if (!honest || (sample == "wall" && !clocks_agree(answer.body))) return Samples();
      Telemetry seen = telemetry_from_json(answer.body.value("telemetry", Json()));
      if (seen.slowed() && attempt < kRedoAtMost) {
        ++conditions_.redone;
        std::this_thread::sleep_for(std::chrono::duration<double>(kRedoAfter));
        continue;
      }
      note(seen);
      std::vector<double> ms;
      for (const auto& value : answer.body.value("samples_ms", Json::array()))
        if (value.is_number()) ms.push_back(value.get<double>());
      return Samples(std::move(ms));
    }
  }

  // Not every plan can become a graph (one with a cooperative launch, say); its stream can be
  // timed.
  Result<bool> can_be_captured() {
    KP_ASSIGN(RunnerAnswer answer,
              bench_.runner.time("graph", "cold", 1, 2 * bench_.options.run_timeout_s));
    bool broke =
        answer.kind == RunnerAnswer::Kind::crashed || answer.kind == RunnerAnswer::Kind::timed_out;
    if (broke) hooks_.broke(answer);
    return answer.kind == RunnerAnswer::Kind::ok;
  }

  Result<Samples> take_baseline(int count) {
    KP_ASSIGN(std::vector<double> ms,
              bench_.oracle.sample_baseline(own_.seed, bench_.baselines.front().name, count));
    return Samples(std::move(ms));
  }

  // A timed run must have done what the checked run did. Other bits are another order of summation
  // at best: the oracle looks at the last run's then. The runner does not know which one that is.
  Result<bool> check(const Json& body) {
    if (!hooks_.clean(body)) return false;
    if (int_or(body, "others", 0) == 0) return true;
    verdict_.deterministic = false;
    KP_ASSIGN(Comparison comparison, hooks_.compare(body));
    if (comparison.ok) return true;
    return unsteady("wrong in timed runs, right in others", failing_reason(comparison.leaves));
  }

  // Wrong after it was right. Chance (a race) or design? By design fresh runs are right every time.
  Result<bool> unsteady(const std::string& rule, const std::string& reason) {
    constexpr int kTries = 5;
    int right = 0;
    for (int i = 0; i < kTries; ++i) {
      KP_ASSIGN(RunnerAnswer ran, bench_.runner.run(true, 1, bench_.options.run_timeout_s));
      if (ran.kind != RunnerAnswer::Kind::ok) {
        hooks_.broke(ran);
        return false;
      }
      KP_ASSIGN(Comparison again, hooks_.compare(ran.body));
      if (again.ok) ++right;
    }
    if (right == kTries)
      hooks_.fault(Outcome::dishonest, rule,
                   fmt::format("{}; {} of {} fresh, untimed runs after it were right", reason,
                               right, kTries));
    else
      hooks_.fault(Outcome::incorrect, "not right in every run: " + reason,
                   "Runs on the same inputs differ: a race between threads, or memory that is read "
                   "before it is written.");
    return false;
  }

  void note(const Telemetry& seen) {
    if (seen.sm_mhz <= 0) return;
    Conditions& c = conditions_;
    c.sm_mhz_min = c.sm_mhz_min == 0 ? seen.sm_mhz : std::min(c.sm_mhz_min, seen.sm_mhz);
    c.sm_mhz_max = std::max(c.sm_mhz_max, seen.sm_mhz);
    c.memory_mhz = seen.memory_mhz;
    c.temperature_c = std::max(c.temperature_c, seen.temperature_c);
    c.power_w = std::max(c.power_w, seen.power_w);
    for (const std::string& reason : seen.throttle)
      if (std::find(c.throttle.begin(), c.throttle.end(), reason) == c.throttle.end())
        c.throttle.push_back(reason);
  }

  void record(const RoundSamples& samples) {
    for (auto [list, mode] : {std::pair{&samples.stream, "stream"}, {&samples.graph, "graph"}})
      if (!list->empty()) verdict_.timings.push_back(summarize(*list, mode, "cold"));
    for (const auto& timing : verdict_.timings)
      if (!verdict_.timing || timing.median_ms < verdict_.timing->median_ms)
        verdict_.timing = timing;
    stream_ = samples.stream;
    if (!samples.baseline.empty()) {
      Timing& timing = verdict_.baselines.front().timing;
      timing = summarize(samples.baseline, timing.mode, "cold");
      verdict_.speedup_ci95 = ratio_interval(samples.baseline, samples.best());
    }
  }

  int extra_samples() const {
    double each_s = verdict_.timing->median_ms / 1e3 * 3;  // with what is done around it
    return static_cast<int>(
        std::clamp(kExtraBudget / each_s, 3.0, static_cast<double>(kExtraSamples)));
  }

  // A warm L2, and the host's clock round everything: launch gaps included.
  Result<bool> other_ways() {
    const std::string mode = verdict_.timing->mode;
    for (auto [sample, name, l2] :
         {std::tuple{"warm", mode.c_str(), "warm"}, std::tuple{"wall", "wall", "cold"}}) {
      KP_ASSIGN(Samples ms, take(mode, sample, extra_samples()));
      if (!ms) return false;
      verdict_.timings.push_back(summarize(*ms, name, l2));
    }
    return true;
  }

  // Two clocks for the same runs. What else happens on the device is on both of them.
  bool clocks_agree(const Json& body) {
    const Json host = body.value("samples_ms", Json::array());
    const Json events = body.value("events_ms", Json::array());
    for (std::size_t i = 0; i < std::min(host.size(), events.size()); ++i) {
      double on_host = host[i].get<double>();
      double on_device = events[i].get<double>();
      if (on_host <= kClockRatio * on_device + kClockGapMs) return true;
      if (i + 1 < events.size()) continue;
      hooks_.fault(Outcome::dishonest, "the events' clock says less than the host's",
                   fmt::format("in each of {} runs; {:.4g} ms between the events, {:.4g} ms on the "
                               "host's clock in the last",
                               i + 1, on_device, on_host));
      return false;
    }
    return true;
  }

  Result<bool> check_kept() {
    KP_ASSIGN(Samples kept, take("stream", "kept", extra_samples() + 1));
    if (!kept) return false;
    kept->erase(kept->begin());  // the run before it was another way of launching
    std::vector<double> fresh = stream_;
    if (fresh.size() > 2 * kept->size()) fresh.resize(2 * kept->size());
    KP_ASSIGN(Samples more, take("stream", "cold", extra_samples()));
    if (!more) return false;
    fresh.insert(fresh.end(), more->begin(), more->end());
    if (!gains_from_kept(fresh, *kept)) return true;
    hooks_.fault(
        Outcome::dishonest, "is faster on what its last call left",
        fmt::format("{:.4g} ms on fresh memory, {:.4g} ms when outputs, buffers and variables "
                    "are as the last call left them; both with a cold L2",
                    median(fresh), median(*kept)));
    return false;
  }

  // Call after call on what the last left, as it is in use. What counts its calls shows.
  Result<bool> check_many_calls() {
    int calls = static_cast<int>(
        std::clamp(kManyBudget / (verdict_.timing->median_ms / 1e3), 3.0, kManyCalls));
    KP_ASSIGN(RunnerAnswer ran,
              bench_.runner.run(false, calls, bench_.options.run_timeout_s + 2 * kManyBudget));
    if (ran.kind != RunnerAnswer::Kind::ok) {
      hooks_.broke(ran);
      return false;
    }
    if (!hooks_.clean(ran.body)) return false;
    KP_ASSIGN(Comparison comparison, hooks_.compare(ran.body));
    if (comparison.ok) return true;
    return unsteady(fmt::format("right at first, wrong after {} calls", calls),
                    failing_reason(comparison.leaves));
  }

  Result<bool> check_floor() {
    double bytes = 0;
    for (const auto& t : bench_.oracle.task().tensors)
      if (t.role == Role::output) bytes += static_cast<double>(t.storage_bytes());
    double floor = write_floor_ms(bytes, bench_.device);
    if (verdict_.timing->median_ms >= floor) return true;
    hooks_.fault(Outcome::dishonest, "faster than its outputs can be written",
                 fmt::format("{:.4g} ms for {:.4g} MB of outputs; DRAM takes {:.4g} ms at its peak",
                             verdict_.timing->median_ms, bytes / 1e6, floor));
    return false;
  }

  Result<bool> energy() {
    verdict_.conditions = conditions_;
    if (!bench_.options.energy) return true;
    KP_ASSIGN(
        RunnerAnswer answer,
        bench_.runner.energy(verdict_.timing->mode, verdict_.timing->median_ms, kEnergyTimeout));
    if (answer.kind != RunnerAnswer::Kind::ok) {
      hooks_.broke(answer);
      return false;
    }
    verdict_.energy = energy_of(answer.body);
    return true;
  }

  const Bench& bench_;
  const Trial& own_;
  Verdict& verdict_;
  const TimeHooks& hooks_;
  Conditions conditions_;
  std::vector<double> stream_;
};

}  // namespace

double write_floor_ms(double output_bytes, const DeviceInfo& device) {
  double beyond_l2 = output_bytes - static_cast<double>(device.l2_bytes);
  if (device.dram_peak_gbs <= 0 || beyond_l2 <= 0) return 0;
  return beyond_l2 / (device.dram_peak_gbs * 1e6);
}

bool gains_from_kept(const std::vector<double>& fresh_ms, const std::vector<double>& kept_ms) {
  if (fresh_ms.empty() || kept_ms.empty()) return false;
  double fresh = median(fresh_ms);
  double kept = median(kept_ms);
  double fastest_fresh = *std::min_element(fresh_ms.begin(), fresh_ms.end());
  return fresh >= kKeptGain * kept && fresh - kept >= kKeptLeastMs && kept < fastest_fresh;
}

Energy energy_of(const Json& body) {
  // Two-sided 95 % points of Student's t for 1 to 9 degrees of freedom.
  constexpr std::array<double, 9> kT = {12.706, 4.303, 3.182, 2.776, 2.571,
                                        2.447,  2.365, 2.306, 2.262};
  Energy e;
  e.idle_w = double_or(body, "idle_w", 0);
  std::vector<double> each;
  double seconds = 0, joules = 0, calls = 0;
  for (const auto& w : body.value("windows", Json::array())) {
    double n = double_or(w, "calls", 0);
    if (n <= 0) continue;
    each.push_back(double_or(w, "joules", 0) / n);
    seconds += double_or(w, "seconds", 0);
    joules += double_or(w, "joules", 0);
    calls += n;
  }
  e.windows = static_cast<int>(each.size());
  if (each.empty() || seconds <= 0) return e;
  e.joules = joules / calls;
  e.power_w = joules / seconds;
  e.above_idle_j = e.joules - e.idle_w * seconds / calls;
  double squares = 0;
  for (double j : each) squares += (j - e.joules) * (j - e.joules);
  double half = 0;
  if (each.size() > 1) {
    double n = static_cast<double>(each.size());
    half = kT[std::min<std::size_t>(each.size() - 2, kT.size() - 1)] *
           std::sqrt(squares / (n - 1) / n);
  }
  e.ci95 = {e.joules - half, e.joules + half};
  return e;
}

Status time_candidate(const Bench& bench, const Trial& own, Verdict& verdict,
                      const TimeHooks& hooks) {
  return Timer(bench, own, verdict, hooks).go();
}

}  // namespace kp
