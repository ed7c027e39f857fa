// ncu's pages as a terminal shows them: a line a launch, tables between lines of dashes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "profile/csv.h"
#include "profile/ncu_cells.h"
#include "profile/ncu_launch.h"
#include "profile/ncu_log.h"
#include "profile/read.h"

namespace kp {

namespace {

// Columns of a table, from its line of dashes: "    ------- ---- ------".
struct Column {
  std::size_t begin = 0, end = 0;
};

std::vector<Column> columns_of(std::string_view line) {
  std::vector<Column> columns;
  if (line.find_first_not_of(" -") != std::string_view::npos) return {};
  for (std::size_t at = line.find('-'); at != std::string_view::npos; at = line.find('-', at)) {
    std::size_t end = std::min(line.find(' ', at), line.size());
    if (end - at < 3) return {};
    columns.push_back({at, end});
    at = end;
  }
  return columns.size() >= 2 ? columns : std::vector<Column>{};
}

struct Cells {
  std::string name, unit, value;
};

// nullopt when the line does not keep to the columns: it is of somebody else.
std::optional<Cells> cells_of(std::string_view line, const std::vector<Column>& columns) {
  if (line.size() <= columns[2].begin) return std::nullopt;
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t at = columns[c].end; at < columns[c + 1].begin; ++at) {
      if (line[at] != ' ') return std::nullopt;
    }
  }
  auto part = [&](std::size_t from, std::size_t to) {
    return std::string(trim(line.substr(from, to - from)));
  };
  if (line.find_first_not_of(' ') < columns[0].begin) return std::nullopt;
  Cells cells{part(columns[0].begin, columns[0].end), part(columns[1].begin, columns[1].end),
              part(columns[2].begin, line.size())};
  if (cells.name.empty() || cells.value.empty()) return std::nullopt;
  return cells;
}

class TextReader {
 public:
  TextReader(std::string_view text, std::string_view name, NumberStyle style)
      : text_(text), name_(name), style_(style) {}

  // With `decimal_comma` set nothing is read: it becomes true when a value has a decimal comma.
  Profile read(bool* decimal_comma = nullptr) {
    decimal_comma_ = decimal_comma;
    std::size_t at = 0;
    while (at < text_.size()) {
      std::size_t end = text_.find('\n', at);
      bool cut = end == std::string_view::npos;
      if (cut) end = text_.size();
      std::string_view line = text_.substr(at, end - at);
      if (ends_with(line, "\r")) line.remove_suffix(1);
      take(line, cut);
      at = end + 1;
    }
    finish();
    if (summaries_ > 0)
      profile_.notes.push_back(
          fmt::format("{}: {} tables have other columns than name, unit and value (a summary?) and "
                      "were left out",
                      name_, summaries_));
    if (passed_over_ > 0)
      profile_.notes.push_back(
          fmt::format("{}: passed over {} lines inside of tables", name_, passed_over_));
    for (std::string& note : refusals_.notes(name_)) profile_.notes.push_back(std::move(note));
    return std::move(profile_);
  }

 private:
  void take(std::string_view line, bool cut) {
    if (auto launch = ncu_launch_of(line); launch && !cut) {
      finish();
      kernel_ = std::move(*launch);
      columns_.clear();
      return;
    }
    if (auto columns = columns_of(line); !columns.empty()) {
      // Three lines of dashes a table where it has a heading, two where it has none.
      if (columns.size() != 3) ++summaries_;
      columns_ = columns.size() == 3 ? std::move(columns) : std::vector<Column>{};
      return;
    }
    if (trim(line).empty()) columns_.clear();  // the table is over, or was cut
    if (columns_.empty() || !kernel_) return;
    auto cells = cells_of(line, columns_);
    if (!cells) {
      ++passed_over_;
    } else if (cut) {
      profile_.notes.push_back(fmt::format("{}: the text ends inside of \"{}\", which was left out",
                                           name_, cells->name));
    } else if (decimal_comma_ != nullptr) {
      *decimal_comma_ = *decimal_comma_ || only_decimal_comma(cells->value);
    } else if (is_known_to_ncu(cells->name)) {
      cells_[cells->name].push_back({cells->unit, cells->value});
    }
  }

  void finish() {
    if (!kernel_) return;
    std::string where = fmt::format("{}, launch {}", kernel_->kernel, profile_.kernels.size());
    fill_metrics(*kernel_, cells_, style_, where, refusals_);
    profile_.kernels.push_back(std::move(*kernel_));
    kernel_.reset();
    cells_.clear();
  }

  std::string_view text_;
  std::string name_;
  NumberStyle style_;
  bool* decimal_comma_ = nullptr;
  std::optional<KernelProfile> kernel_;
  std::vector<Column> columns_;
  NcuCells cells_;
  int passed_over_ = 0, summaries_ = 0;
  Refusals refusals_;
  Profile profile_;
};

}  // namespace

bool is_ncu_text(std::string_view text) {
  bool launch = false;
  for (std::string_view line : lines_of(text)) {
    if (ncu_launch_of(line)) launch = true;
    if (launch && !columns_of(line).empty()) return true;
  }
  return false;
}

Result<Profile> read_ncu_text(std::string_view text, std::string_view name) {
  text = without_bom(text);
  bool decimal_comma = false;
  TextReader(text, name, NumberStyle::point).read(&decimal_comma);
  NumberStyle style = decimal_comma ? NumberStyle::comma : NumberStyle::point;
  Profile profile = TextReader(text, name, style).read();
  bool any = std::any_of(profile.kernels.begin(), profile.kernels.end(),
                         [](const KernelProfile& k) { return !k.metrics.empty(); });
  if (any) return profile;
  NcuTrouble trouble = ncu_trouble(text);
  if (trouble.kind != NcuTrouble::Kind::none)
    return fail(fmt::format("{}: {}", name, trouble.message), trouble.hint);
  return fail(fmt::format("{}: a page of Nsight Compute without a value that can be used{}", name,
                          profile.notes.empty() ? "" : ": " + profile.notes.front()),
              "print the details page, without --print-summary: ncu --import FILE.ncu-rep --page "
              "details");
}

}  // namespace kp
