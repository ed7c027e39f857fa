#include "directives/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <kainjow/mustache.hpp>

#include "base/assets.h"
#include "base/text.h"

namespace kp {
namespace {

namespace mustache = kainjow::mustache;

// Three significant digits, never in the exponent form.
std::string three_digits(double value) {
  if (std::abs(value) >= 100 || value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

struct Step {
  double from;
  double divisor;
  const char* unit;
};

// The largest step that the value reaches.
template <std::size_t N>
std::string scaled(double value, const std::array<Step, N>& steps) {
  for (const Step& step : steps) {
    if (value >= step.from) return three_digits(value / step.divisor) + step.unit;
  }
  return three_digits(value) + steps.back().unit;
}

constexpr std::array<Step, 4> kBytes = {
    {{1e9, 1e9, " GB"}, {1e6, 1e6, " MB"}, {1e3, 1e3, " kB"}, {0, 1, " bytes"}}};
constexpr std::array<Step, 2> kSharedBytes = {{{1024, 1024, " KiB"}, {0, 1, " bytes"}}};
constexpr std::array<Step, 2> kBandwidth = {{{1e3, 1e3, " TB/s"}, {0, 1, " GB/s"}}};
constexpr std::array<Step, 2> kTime = {{{1e3, 1e3, " ms"}, {0, 1, " us"}}};
constexpr std::array<Step, 2> kOperations = {{{1e3, 1e3, " TFLOP"}, {0, 1, " GFLOP"}}};

// Notes which names were asked for in vain; sections ({{#has_x}}) may be.
class NotingContext : public mustache::context<std::string> {
 public:
  NotingContext(const mustache::data* data, std::vector<std::string>& missing)
      : mustache::context<std::string>(data), missing_(missing) {}

  const mustache::data* get(const std::string& name) const override {
    const mustache::data* found = mustache::context<std::string>::get(name);
    if (found == nullptr && !starts_with(name, "has_")) missing_.push_back(name);
    return found;
  }

 private:
  std::vector<std::string>& missing_;
};

mustache::data data_of(const Finding& finding) {
  mustache::data data;
  auto set = [&](const std::string& name, const std::string& value) {
    data.set(name, value);
    data.set("has_" + name, true);
  };
  for (const auto& [name, value] : finding.numbers) set(name, format_number(name, value));
  for (const auto& [name, value] : finding.words) set(name, value);
  set("kernel", finding.place.kernel);
  if (finding.place.line > 0) set("line", std::to_string(finding.place.line));
  if (!finding.place.sass.empty()) set("sass", finding.place.sass);
  set("predicted_gain", format_number("predicted_gain", finding.predicted_gain));
  if (finding.predicted_gain > 1) data.set("has_gain", true);
  set("gain_model", finding.gain_model);
  return data;
}

std::string fill(const Finding& finding, std::string_view text, std::vector<std::string>& missing) {
  mustache::mustache filled{std::string(text)};
  KP_CHECK(filled.is_valid());
  filled.set_custom_escape([](const std::string& raw) { return raw; });  // not HTML
  mustache::data data = data_of(finding);
  NotingContext context(&data, missing);
  return filled.render(context);
}

}  // namespace

std::string format_number(std::string_view name, double value) {
  auto is = [&](std::string_view end) { return ends_with(name, end); };
  if (is("_pct")) return three_digits(value) + " %";
  if (is("_gbs")) return scaled(value, kBandwidth);
  if (is("smem_bytes")) return scaled(value, kSharedBytes);
  if (is("_bytes")) return scaled(value, kBytes);
  if (is("_us")) return scaled(value, kTime);
  if (is("_gflop")) return scaled(value, kOperations);
  if (is("_tflops")) return three_digits(value) + " TFLOP/s";
  if (is("_bits")) return three_digits(value) + " bits";
  if (is("_x") || is("gain")) return three_digits(value) + "x";
  return three_digits(value);
}

Words render(const Finding& finding, std::string_view template_text) {
  Words words;
  std::string text = fill(finding, template_text, words.missing);
  std::size_t end = text.find('\n');
  KP_CHECK(starts_with(text, "# ") && end != std::string::npos);
  words.title = text.substr(2, end - 2);
  words.text = std::string(trim(std::string_view(text).substr(end)));
  return words;
}

Words words_of(const Finding& finding) {
  Words words =
      render(finding, asset(fmt::format("directives/{}/{}.md", finding.tool, finding.cause)));
  words.text += "\n" + std::string(trim(fill(finding, asset("directives/gain.md"), words.missing)));
  return words;
}

}  // namespace kp
