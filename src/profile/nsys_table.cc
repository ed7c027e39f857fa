#include "profile/nsys_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "profile/timeline.h"

namespace kp {

namespace {

// "Start (ns)" → {"Start", "ns"}; "Time(%)" → {"Time", "%"}.
std::pair<std::string, std::string> name_and_unit(std::string_view header) {
  std::string_view s = trim(header);
  std::size_t open = s.rfind('(');
  if (open == std::string_view::npos || s.empty() || s.back() != ')') return {std::string(s), ""};
  return {std::string(trim(s.substr(0, open))),
          std::string(s.substr(open + 1, s.size() - open - 2))};
}

}  // namespace

std::optional<NsysTable> NsysTable::of(const CsvRecord& record) {
  const auto& f = record.fields;
  if (record.plain || record.cut || f.size() < 4) return std::nullopt;
  NsysTable table;
  for (std::size_t i = 0; i < f.size(); ++i) {
    auto [name, unit] = name_and_unit(f[i]);
    if (!table.by_name.emplace(name, Column{i, unit}).second) return std::nullopt;
  }
  auto has = [&](std::string_view name) { return table.by_name.count(name) != 0; };
  bool sum = has("Time") && has("Total Time"), trace = has("Start") && has("Duration");
  table.name_column = has("Name") ? "Name" : "Operation";
  bool named = has(table.name_column);
  if (sum && named && has("Instances") && !has("Style") && !has("Category")) {
    table.kind = Kind::kernel_sum;
  } else if (sum && has("Operation") && has("Count")) {
    table.kind = Kind::transfer_sum;
  } else if (sum && named && has("Num Calls")) {
    table.kind = Kind::call_sum;
  } else if (trace && named && has("CorrId") && has("GrdX")) {
    table.kind = Kind::gpu_trace;
  } else if (trace && named && has("CorrID") && has("Result")) {
    table.kind = Kind::call_trace;
  } else if (sum || trace || has("API Start") || (has("Total") && has("Operation"))) {
    table.kind = Kind::other;
  } else {
    return std::nullopt;
  }
  return table;
}

const char* NsysTable::count_column() const {
  for (const char* name : {"Instances", "Num Calls", "Count"}) {
    if (by_name.count(std::string_view(name)) != 0) return name;
  }
  return "Count";
}

std::string_view NsysRow::cell(std::string_view column) const {
  auto it = table_.by_name.find(column);
  if (it == table_.by_name.end() || it->second.at >= record_.fields.size()) return {};
  return trim(record_.fields[it->second.at]);
}

std::string NsysRow::name() const {
  return std::string(cell(table_.name_column));
}

bool NsysRow::has(std::string_view column) const {
  return !cell(column).empty();
}

void NsysRow::refuse(std::string_view column, const std::string& why) const {
  refusals_.add(std::string(column), why, name());
}

std::optional<double> NsysRow::number(std::string_view column) const {
  std::string_view text = cell(column);
  ParsedNumber n = parse_number(text, style_);
  if (n.problem == NotANumber::none) return n.value;
  if (n.problem != NotANumber::empty)
    refuse(column, fmt::format("is \"{}\", which is no number that can be read in one way", text));
  return std::nullopt;
}

std::optional<double> NsysRow::time(std::string_view column, double per_us) const {
  auto it = table_.by_name.find(column);
  if (it == table_.by_name.end()) return std::nullopt;
  auto factor = convert_unit(1, it->second.unit, "us", column);
  if (!factor) {
    refuse(column, fmt::format("has the unit \"{}\", which is no time", it->second.unit));
    return std::nullopt;
  }
  auto value = number(column);
  if (!value) return std::nullopt;
  double scaled = *value * *factor * per_us;
  if (scaled < 1e18) return scaled;
  refuse(column, "lies outside all time");
  return std::nullopt;
}

std::optional<double> NsysRow::us(std::string_view column) const {
  return time(column, 1);
}

std::optional<std::int64_t> NsysRow::ns(std::string_view column) const {
  auto value = time(column, 1e3);
  return value ? std::optional(static_cast<std::int64_t>(std::llround(*value))) : std::nullopt;
}

std::optional<std::int64_t> NsysRow::integer(std::string_view column) const {
  auto value = number(column);
  if (!value) return std::nullopt;
  if (*value < 9e15 && *value == std::floor(*value)) return static_cast<std::int64_t>(*value);
  refuse(column, fmt::format("is \"{}\", which is no count", cell(column)));
  return std::nullopt;
}

int NsysRow::small(std::string_view column) const {
  auto value = integer(column);
  return value && *value <= 2147483647 ? static_cast<int>(*value) : 0;
}

int NsysRow::device() const {
  std::string_view text = cell("Device");
  std::size_t open = text.rfind('(');
  int number = 0;
  if (open == std::string_view::npos) return 0;
  auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + text.size(), number);
  return error == std::errc() && number >= 0 && end != text.data() + text.size() ? number : 0;
}

NumberStyle nsys_style(std::string_view text) {
  CsvReader reader(text);
  std::optional<NsysTable> table;
  while (auto record = reader.next()) {
    if (auto next = NsysTable::of(*record)) {
      table = std::move(next);
    } else if (table && record->fields.size() == table->columns()) {
      for (const auto& [name, column] : table->by_name) {
        if (!column.unit.empty() && only_decimal_comma(record->fields[column.at]))
          return NumberStyle::comma;
      }
    }
  }
  return NumberStyle::point;
}

bool is_cuda_call(std::string_view name) {
  if (!starts_with(name, "cu") || name.size() < 3) return false;
  return starts_with(name, "cuda") || std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

}  // namespace kp
