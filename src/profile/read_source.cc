// ncu's source page: SASS with counters, one table a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/text.h"
#include "profile/csv.h"
#include "profile/names.h"
#include "profile/number.h"
#include "profile/read.h"
#include "profile/sass_loops.h"
#include "profile/sass_text.h"

namespace kp {

namespace {

struct SourceTable {
  SassSummary summary;
  std::uint64_t base = 0;  // address of the first instruction
  std::uint64_t end = 0;   // behind the last
};

std::optional<std::uint64_t> address_of(std::string_view text) {
  if (!starts_with(text, "0x")) return std::nullopt;
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// ncu prints where the code lay in memory; branches then go to absolute addresses.
void make_relative(SassInstruction& i, std::uint64_t base, std::uint64_t end) {
  static const std::set<std::string_view> control = {"BRA", "CALL", "JMP",      "BSSY",
                                                     "RET", "BRX",  "WARPSYNC", "SSY"};
  if (control.count(base_opcode(i.opcode)) == 0) return;
  std::size_t at = i.operands.rfind("0x");
  if (at == std::string::npos) return;
  auto target = address_of(std::string_view(i.operands).substr(at));
  if (target && *target >= base && *target <= end)
    i.operands.replace(at, std::string::npos, fmt::format("{:#x}", *target - base));
}

// -1 for what is no count: "1.234" is thousands in some locales, so it is none either.
std::int64_t count_of(std::string_view text) {
  ParsedNumber n = parse_number(text, NumberStyle::point);
  bool count = n.problem == NotANumber::none && n.value < 9e15 && n.value == std::floor(n.value);
  return count ? static_cast<std::int64_t>(n.value) : -1;
}

class SourceReader {
 public:
  std::vector<SassSummary> read(std::string_view text) {
    CsvReader reader(text);
    while (auto record = reader.next()) {
      if (record->plain) continue;
      const auto& f = record->fields;
      if (f[0] == "Kernel Name" && f.size() >= 2) {
        finish();
        table_.summary.signature = f[1];
        table_.summary.function = function_name(f[1]);
      } else if (std::find(f.begin(), f.end(), "Address") != f.end() &&
                 std::find(f.begin(), f.end(), "Source") != f.end()) {
        columns_.clear();
        for (std::size_t i = 0; i < f.size(); ++i) columns_.emplace(f[i], i);
      } else if (!columns_.empty()) {
        row(*record);
      }
    }
    finish();
    return std::move(functions_);
  }

 private:
  std::string_view get(const CsvRecord& record, std::string_view name) const {
    auto it = columns_.find(name);
    std::size_t whole = record.fields.size() - (record.cut ? 1 : 0);
    return it == columns_.end() || it->second >= whole ? std::string_view()
                                                       : record.fields[it->second];
  }

  void row(const CsvRecord& record) {
    auto address = address_of(get(record, "Address"));
    SassInstruction i;
    if (!address || !parse_instruction(get(record, "Source"), i)) return;
    if (table_.summary.code.empty()) table_.base = *address;
    if (*address < table_.base || *address - table_.base > 0xffffffffULL) return;
    i.address = static_cast<std::uint32_t>(*address - table_.base);
    table_.end = *address + 16;
    i.executed = count_of(get(record, "Instructions Executed"));
    i.samples = count_of(get(record, "# Samples"));
    table_.summary.code.push_back(std::move(i));
  }

  // ncu writes a table for every launch (and some versions write each twice): the first counts.
  void finish() {
    SassSummary& s = table_.summary;
    bool known = std::any_of(functions_.begin(), functions_.end(),
                             [&](const SassSummary& f) { return f.signature == s.signature; });
    if (!s.code.empty() && !known) {
      for (SassInstruction& i : s.code) make_relative(i, table_.base, table_.end);
      summarize(s);
      functions_.push_back(std::move(s));
    }
    table_ = {};
  }

  std::map<std::string, std::size_t, std::less<>> columns_;
  SourceTable table_;
  std::vector<SassSummary> functions_;
};

}  // namespace

Result<std::vector<SassSummary>> read_ncu_source(std::string_view text, std::string_view name) {
  std::vector<SassSummary> functions = SourceReader().read(without_bom(text));
  if (functions.empty())
    return fail(
        fmt::format("{}: no SASS in this source page", name),
        "export it with: ncu --import FILE.ncu-rep --csv --page source --print-source sass");
  return functions;
}

}  // namespace kp
