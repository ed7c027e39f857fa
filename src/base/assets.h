#pragma once
// Files under assets/, embedded at build: prompts, help, Python and CUDA sources, pages.
#include <string_view>
#include <vector>

namespace kp {

// The text of assets/<path>. A path that is not there is a bug of ours.
std::string_view asset(std::string_view path);

// Paths of all assets that start with `prefix`, sorted.
std::vector<std::string_view> asset_paths(std::string_view prefix);

namespace detail {
struct AssetRow {
  const char* path;
  const char* begin;
  const char* end;
};
extern const AssetRow kAssets[];  // ends with a null path
}  // namespace detail

}  // namespace kp
