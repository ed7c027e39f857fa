#include "verdict/module_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/stats.h"
#include "base/text.h"

namespace kp {

namespace {

constexpr double kClockShare = 0.10;
constexpr double kErrors = 5;  // standard errors of a median
// A call on new inputs may take so much longer than three quarters of those on known ones.
constexpr double kFreshShare = 1.25;
constexpr double kFreshFloorMs = 0.02;
constexpr std::size_t kFewestFresh = 3;
constexpr double kBusyShare = 0.3;

double standard_error(double mad, std::size_t n) {
  return n == 0 ? 0 : 1.2533 * 1.4826 * mad / std::sqrt(static_cast<double>(n));
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    bool begins = at == 0 || !is_word(text[at - 1]);
    bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

// "void ns::scale<float, 4>(float*)" -> "scale"
std::string_view bare_name(std::string_view name) {
  name = name.substr(0, std::min(name.find('<'), name.find('(')));
  name = trim(name);
  if (auto space = name.rfind(' '); space != std::string_view::npos) name = name.substr(space + 1);
  if (auto colon = name.rfind(':'); colon != std::string_view::npos) name = name.substr(colon + 1);
  return name;
}

// Triton appends what it specialised on: "scale_0d1d2" -> "scale".
std::string_view without_suffix(std::string_view name) {
  std::size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos || underscore + 1 >= name.size()) return name;
  for (char c : name.substr(underscore + 1))
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != 'd' && c != 'c' && c != 'e')
      return name;
  return name.substr(0, underscore);
}

}  // namespace

ModuleOverhead overhead_of(const std::vector<double>& wall_ms) {
  return {median(wall_ms), median_absolute_deviation(wall_ms)};
}

ModuleClock compare_clocks(const std::vector<ModuleSample>& samples, const ModuleOverhead& overhead,
                           double floor_ms) {
  std::vector<double> claimed;
  std::vector<double> outside;
  std::vector<double> difference;
  for (const auto& s : samples) {
    claimed.push_back(s.claimed_ms);
    outside.push_back(s.wall_ms - overhead.median_ms);
    difference.push_back(outside.back() - s.claimed_ms);
  }
  ModuleClock clock;
  clock.claimed_ms = median(claimed);
  clock.outside_ms = clock.claimed_ms + median(difference);
  double error = std::hypot(standard_error(median_absolute_deviation(difference), samples.size()),
                            standard_error(overhead.mad_ms, samples.size()));
  clock.tolerance_ms = floor_ms + kClockShare * std::max(0.0, clock.claimed_ms) + kErrors * error;
  return clock;
}

std::optional<std::string> clock_evidence(const ModuleClock& clock) {
  if (clock.claimed_ms < 0 || std::isnan(clock.claimed_ms))
    return fmt::format("clock: the process says that a call takes {:.4g} ms", clock.claimed_ms);
  if (clock.outside_ms <= clock.claimed_ms + clock.tolerance_ms) return std::nullopt;
  return fmt::format(
      "clock: the process says that a call takes {:.4g} ms, by the clock outside it takes {:.4g} "
      "ms "
      "(they may differ by {:.3g} ms)",
      clock.claimed_ms, clock.outside_ms, clock.tolerance_ms);
}

std::optional<std::string> memory_evidence(const std::vector<ModuleSample>& samples) {
  std::vector<double> fresh;
  std::vector<double> known;
  for (const auto& s : samples) (s.fresh ? fresh : known).push_back(s.claimed_ms);
  if (fresh.size() < kFewestFresh || known.size() < kFewestFresh) return std::nullopt;
  double fastest = *std::min_element(fresh.begin(), fresh.end());
  double usual = quantile(known, 0.75);
  if (fastest <= kFreshShare * usual + kFreshFloorMs) return std::nullopt;
  return fmt::format(
      "memory: inputs that were seen before take {:.4g} ms, new ones at least {:.4g} ms: answers "
      "are kept",
      median(known), fastest);
}

std::optional<std::string> busy_evidence(const std::vector<double>& busy) {
  auto count = std::count_if(busy.begin(), busy.end(), [](double b) { return b > kBusyShare; });
  if (count < 2 || 2 * count <= static_cast<std::ptrdiff_t>(busy.size())) return std::nullopt;
  return fmt::format(
      "work outside the call: in {} of {} looks between calls another process used the GPU", count,
      busy.size());
}

bool promises_kernels(std::string_view source) {
  for (const char* sign : {"__global__", "triton.jit", "RawKernel"})
    if (contains(source, sign)) return true;
  return contains(source, "import triton") && contains(source, "@jit");
}

std::vector<std::string> own_kernels(std::string_view source, const Json& launched) {
  std::vector<std::string> own;
  if (!launched.is_object()) return own;
  for (const auto& [name, count] : launched.items()) {
    if (contains(name, "at::") || starts_with(name, "Mem")) continue;
    std::string_view bare = bare_name(name);
    if (bare.size() >= 2 && (has_word(source, bare) || has_word(source, without_suffix(bare))))
      own.push_back(name);
  }
  return own;
}

}  // namespace kp
