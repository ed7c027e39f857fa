#include "directives/reconcile.h"

#include <algorithm>

#include "base/assets.h"
#include "base/text.h"
#include "directives/words.h"

namespace kp {
namespace {

struct Pair {
  std::string first, second;
  enum class Keep { first, second, stronger } keep = Keep::first;
  bool add = false;
  std::string reason;
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> table = [] {
    auto json = parse_json(asset("directives/reconcile.json"), "directives/reconcile.json");
    KP_CHECK(json && json->contains("pairs"));
    std::vector<Pair> rows;
    for (const Json& row : (*json)["pairs"]) {
      Pair pair{string_or(row, "first", ""), string_or(row, "second", ""), Pair::Keep::first,
                bool_or(row, "add", false), string_or(row, "reason", "")};
      std::string keep = string_or(row, "keep", "");
      KP_CHECK(keep == "first" || keep == "second" || keep == "stronger");
      if (keep == "second") pair.keep = Pair::Keep::second;
      if (keep == "stronger") pair.keep = Pair::Keep::stronger;
      rows.push_back(pair);
    }
    return rows;
  }();
  return table;
}

bool matches(const Finding& finding, std::string_view pattern) {
  if (ends_with(pattern, "/*")) return finding.tool == pattern.substr(0, pattern.size() - 2);
  return finding.tool + "/" + finding.cause == pattern;
}

double worth(const Finding& finding) {
  return (finding.predicted_gain - 1) * finding.confidence;
}

// Both savings together, as fractions of the present time; 5 % of it always stays.
double added_gain(double a, double b) {
  return 1 / std::max(0.05, 1 / a + 1 / b - 1);
}

void drop(std::vector<Reconciled>& all, std::size_t kept, std::size_t dropped, const Pair& pair) {
  std::string title = words_of(all[dropped].finding).title;
  all[kept].notes.push_back(replace_all(pair.reason, "{dropped}", title));
  all[kept].notes.insert(all[kept].notes.end(), all[dropped].notes.begin(),
                         all[dropped].notes.end());
  if (pair.add) {
    Finding& finding = all[kept].finding;
    const Finding& other = all[dropped].finding;
    finding.predicted_gain = added_gain(finding.predicted_gain, other.predicted_gain);
    double& kernel_gain = finding.numbers["kernel_gain"];
    auto other_gain = other.numbers.find("kernel_gain");
    if (kernel_gain >= 1 && other_gain != other.numbers.end()) {
      kernel_gain = added_gain(kernel_gain, other_gain->second);
    }
  }
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(dropped));
}

// Applies `pair` once where it matches two findings of one kernel; false when nowhere.
bool apply(std::vector<Reconciled>& all, const Pair& pair) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      const Finding& a = all[i].finding;
      const Finding& b = all[j].finding;
      if (i == j || a.place.kernel != b.place.kernel || !matches(a, pair.first) ||
          !matches(b, pair.second)) {
        continue;
      }
      bool keep_first = pair.keep == Pair::Keep::first ||
                        (pair.keep == Pair::Keep::stronger && worth(a) >= worth(b));
      drop(all, keep_first ? i : j, keep_first ? j : i, pair);
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Reconciled> reconcile(const std::vector<Finding>& findings) {
  std::vector<Reconciled> all;
  for (const Finding& finding : findings) all.push_back({finding, {}});
  for (const Pair& pair : pairs()) {
    while (apply(all, pair)) {
    }
  }
  return all;
}

}  // namespace kp
