#include "base/assets.h"

#include <algorithm>

#include "base/result.h"

namespace kp {

std::string_view asset(std::string_view path) {
  for (const auto* row = detail::kAssets; row->path != nullptr; ++row) {
    if (path == row->path) return {row->begin, static_cast<std::size_t>(row->end - row->begin)};
  }
  std::fprintf(stderr, "kernelpro: no asset %.*s\n", static_cast<int>(path.size()), path.data());
  KP_CHECK(!"asset exists");
}

std::vector<std::string_view> asset_paths(std::string_view prefix) {
  std::vector<std::string_view> paths;
  for (const auto* row = detail::kAssets; row->path != nullptr; ++row) {
    std::string_view p = row->path;
    if (p.substr(0, prefix.size()) == prefix) paths.push_back(p);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace kp
