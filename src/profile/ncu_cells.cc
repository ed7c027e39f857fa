#include "profile/ncu_cells.h"

#include <fmt/format.h>

#include <optional>
#include <set>

namespace kp {

void Refusals::add(const std::string& what, const std::string& why, const std::string& where) {
  auto [it, is_new] = seen_.try_emplace({what, why}, where, 0);
  ++it->second.second;
}

std::vector<std::string> Refusals::notes(std::string_view file) const {
  std::vector<std::string> lines;
  for (const auto& [key, value] : seen_) {
    std::string times = value.second > 1 ? fmt::format(" and {} more", value.second - 1) : "";
    lines.push_back(
        fmt::format("{}: {} {} ({}{})", file, key.first, key.second, value.first, times));
  }
  return lines;
}

bool is_known_to_ncu(std::string_view name) {
  static const std::set<std::string_view> known = [] {
    std::set<std::string_view> names;
    for (const MetricInfo& info : metric_table()) {
      names.insert(info.counters.begin(), info.counters.end());
      names.insert(info.displays.begin(), info.displays.end());
    }
    return names;
  }();
  return known.count(name) != 0;
}

namespace {

std::string why_not(NotANumber problem, const std::string& text) {
  switch (problem) {
    case NotANumber::empty:
      return "is empty";
    case NotANumber::ambiguous:
      return fmt::format(
          "is \"{}\", which may be read in two ways in a file with decimal commas: export it again "
          "with LC_ALL=C",
          text);
    case NotANumber::negative:
      return fmt::format("is \"{}\", and no counter is negative", text);
    default:
      return fmt::format("is \"{}\", which is no number", text);
  }
}

// Value of the first cell that is a number in a fitting unit.
std::optional<double> value_of(const std::vector<NcuCell>& cells, const MetricInfo& info,
                               std::string_view name, bool shared_name, NumberStyle style,
                               const std::string& where, Refusals& refusals) {
  for (const NcuCell& cell : cells) {
    std::string what = fmt::format("{}: {}", info.name, name);
    if (!convert_unit(1, cell.unit, info.unit, name)) {
      if (!shared_name)
        refusals.add(what,
                     fmt::format("has the unit \"{}\", which is no \"{}\"", cell.unit, info.unit),
                     where);
      continue;
    }
    ParsedNumber number = parse_number(cell.text, style);
    if (number.problem == NotANumber::none)
      return convert_unit(number.value, cell.unit, info.unit, name);
    refusals.add(what, why_not(number.problem, cell.text), where);
  }
  return std::nullopt;
}

}  // namespace

void fill_metrics(KernelProfile& kernel, const NcuCells& cells, NumberStyle style,
                  const std::string& where, Refusals& refusals) {
  for (const MetricInfo& info : metric_table()) {
    auto try_name = [&](std::string_view name, bool shared_name) {
      auto it = cells.find(name);
      if (it == cells.end()) return false;
      auto value = value_of(it->second, info, name, shared_name, style, where, refusals);
      if (value) kernel.metrics[info.metric] = {*value, std::string(name)};
      return value.has_value();
    };
    bool found = false;
    for (std::string_view counter : info.counters) found = found || try_name(counter, false);
    for (std::string_view display : info.displays)
      found = found || try_name(display, metrics_of_display(display).size() > 1);
  }
}

}  // namespace kp
