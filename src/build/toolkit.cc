#include "build/toolkit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/process.h"
#include "base/text.h"

namespace kp {

namespace {

std::string env_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}

bool is_folder(const fs::path& path) {
  std::error_code ec;
  return fs::is_directory(path, ec);
}

// Entries of `folder` whose name starts with `prefix`, the highest version first.
std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    if (starts_with(it->path().filename().string(), prefix)) found.push_back(it->path());
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    std::string x = a.string(), y = b.string();
    return strverscmp(x.c_str(), y.c_str()) > 0;
  });
  return found;
}

// Virtual environments and Python installations whose wheels may hold CUDA parts.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  for (const char* name : {"KERNELPRO_VENV", "VIRTUAL_ENV"})
    if (std::string value = env_or_empty(name); !value.empty()) prefixes.emplace_back(value);
  std::error_code ec;
  prefixes.push_back(fs::current_path(ec) / ".venv");
  // build/dev/src/kernelpro → the source tree's own .venv.
  fs::path folder = own_program().parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    prefixes.push_back(folder / ".venv");
  if (std::string python = find_on_path("python3"); !python.empty())
    prefixes.push_back(fs::path(python).parent_path().parent_path());
  return prefixes;
}

std::vector<fs::path> site_packages() {
  std::vector<fs::path> found;
  for (const fs::path& prefix : python_prefixes())
    for (const char* lib : {"lib", "local/lib"})
      for (const fs::path& python : entries(prefix / lib, "python3"))
        for (const char* name : {"site-packages", "dist-packages"})
          if (is_folder(python / name)) found.push_back(python / name);
  return found;
}

class Search {
 public:
  explicit Search(Toolkit& toolkit) : toolkit_(toolkit) {}

  void add_root(const fs::path& root) {
    if (!seen_.insert(root.string()).second) return;
    toolkit_.searched.push_back(root.string());
    if (is_folder(root)) roots_.push_back(root);
  }

  std::string library(std::string_view prefix) const {
    for (const fs::path& root : roots_)
      for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
        for (const fs::path& file : entries(root / lib, prefix))
          if (is_file(file)) return file.string();
    return "";
  }

  std::string program(const std::string& name) const {
    for (const fs::path& root : roots_)
      if (fs::path file = root / "bin" / name; is_file(file)) return file.string();
    return find_on_path(name);
  }

  std::vector<std::string> include_dirs() const {
    for (const fs::path& root : roots_)
      for (const char* name : {"include", "targets/x86_64-linux/include"}) {
        fs::path folder = root / name;
        if (!is_file(folder / "cuda_fp16.h")) continue;
        std::vector<std::string> dirs = {folder.string()};
        if (is_folder(folder / "cccl")) dirs.push_back((folder / "cccl").string());
        return dirs;
      }
    return {};
  }

 private:
  Toolkit& toolkit_;
  std::vector<fs::path> roots_;
  std::set<std::string> seen_;
};

std::string find_cutlass(const std::vector<fs::path>& sites, std::vector<std::string>& searched) {
  std::vector<fs::path> places;
  if (std::string named = env_or_empty("CUTLASS_PATH"); !named.empty()) {
    places.push_back(fs::path(named) / "include");
    places.emplace_back(named);
  }
  for (const fs::path& site : sites)
    places.push_back(site / "cutlass_library" / "source" / "include");
  for (const fs::path& place : places) {
    searched.push_back(place.string());
    if (is_file(place / "cute" / "tensor.hpp")) return place.string();
  }
  return "";
}

// Nsight tools have version folders of their own: nsight-compute/2025.3.1/ncu.
std::string find_nsight(const std::string& family, const std::string& name) {
  std::vector<fs::path> homes;
  for (const char* base : {"/opt/nvidia", "/usr/local"}) {
    for (const fs::path& folder : entries(fs::path(base) / family, "")) homes.push_back(folder);
    for (const fs::path& folder : entries(base, family + "-")) homes.push_back(folder);
  }
  for (const fs::path& home : homes)
    for (const char* sub : {"", "bin", "target-linux-x64"})
      if (fs::path file = home / sub / name; is_file(file)) return file.string();
  return "";
}

}  // namespace

Toolkit find_toolkit() {
  Toolkit toolkit;
  Search search(toolkit);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string value = env_or_empty(name); !value.empty()) search.add_root(value);
  search.add_root("/usr/local/cuda");
  for (const fs::path& folder : entries("/usr/local", "cuda-")) search.add_root(folder);
  if (std::string nvcc = find_on_path("nvcc"); !nvcc.empty())
    search.add_root(fs::path(nvcc).parent_path().parent_path());
  std::vector<fs::path> sites = site_packages();
  for (const fs::path& site : sites)
    for (const fs::path& wheel : entries(site / "nvidia", "")) search.add_root(wheel);

  toolkit.nvrtc = search.library("libnvrtc.so.");
  if (const char* named = std::getenv("KERNELPRO_NVRTC"); named != nullptr && *named != '\0')
    toolkit.nvrtc = named;
  toolkit.include_dirs = search.include_dirs();
  toolkit.cutlass_include = find_cutlass(sites, toolkit.searched);
  toolkit.cuobjdump = search.program("cuobjdump");
  toolkit.nvdisasm = search.program("nvdisasm");
  toolkit.compute_sanitizer = search.program("compute-sanitizer");
  toolkit.ncu = search.program("ncu");
  if (toolkit.ncu.empty()) toolkit.ncu = find_nsight("nsight-compute", "ncu");
  toolkit.nsys = search.program("nsys");
  if (toolkit.nsys.empty()) toolkit.nsys = find_nsight("nsight-systems", "nsys");
  return toolkit;
}

}  // namespace kp
