#include "build/pch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/hash.h"
#include "base/text.h"

namespace kp {

namespace {

constexpr std::size_t kHeapBytes = std::size_t{900} << 20;  // CuTe takes 288 MiB of it
constexpr std::uintmax_t kFreeBytesWanted = std::uintmax_t{2} << 30;
constexpr std::size_t kFilesKept = 4;  // some 300 MB each
constexpr rlim_t kStackBytes = rlim_t{8} << 20;

// The mapping of at least `bytes` in /proc/self/maps, as "7fffb8200000".
std::string mapping_of(std::size_t bytes) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uint64_t begin = 0, end = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> begin >> dash >> end >> rights;
    if (end - begin >= bytes && rights == "rw-p") return fmt::format("{:x}-{:x}", begin, end);
  }
  return "";
}

void remove_old_files(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code ec;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code ignored;
    auto time = fs::last_write_time(it->path(), ignored);
    if (ignored) continue;
    bool part = it->path().extension() == ".part";  // left by a process that was killed
    if (part && now - time > std::chrono::minutes(10)) fs::remove(it->path(), ignored);
    if (it->path().extension() == ".pch") files.emplace_back(time, it->path());
  }
  std::sort(files.rbegin(), files.rend());
  for (std::size_t i = kFilesKept; i < files.size(); ++i) fs::remove(files[i].second, ec);
}

std::string make_pch(const Nvrtc& nvrtc, const fs::path& file,
                     const std::vector<std::string>& options) {
  std::error_code ec;
  fs::space_info space = fs::space(file.parent_path(), ec);
  if (!ec && space.available < kFreeBytesWanted)
    return fmt::format("{}: less than 2 GiB free", file.parent_path().string());
  remove_old_files(file.parent_path());
  fs::path part = file;
  part += fmt::format(".{}.part", ::getpid());
  NvrtcInput input;
  input.name = "precompiled.cu";
  input.source = "\n";
  input.options = options;
  input.options.push_back("--create-pch=" + part.string());
  NvrtcOutput out = nvrtc_compile(nvrtc, input);
  if (!out.ok || !fs::exists(part, ec)) {
    fs::remove(part, ec);
    return "NVRTC made no precompiled header: " + (out.log.empty() ? out.status : out.log);
  }
  fs::rename(part, file, ec);
  if (ec) return fmt::format("{}: {}", file.string(), ec.message());
  return "";
}

}  // namespace

bool drop_address_randomisation(const std::vector<std::string>& arguments) {
  int now = ::personality(0xffffffff);
  if (now < 0) return false;
  if ((now & ADDR_NO_RANDOMIZE) != 0) return true;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0) {  // where mappings begin depends on it
    stack.rlim_cur = std::min<rlim_t>(kStackBytes, stack.rlim_max);
    ::setrlimit(RLIMIT_STACK, &stack);
  }
  if (::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) < 0) return false;
  if ((::personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) return false;
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  return false;
}

std::string prepare_pch_heap(const Nvrtc& nvrtc) {
  if (nvrtc.set_pch_heap == nullptr || nvrtc.set_pch_heap(kHeapBytes) != NVRTC_SUCCESS) return "";
  // NVRTC maps the heap in the first compilation that asks for a precompiled header: one that ends
  // at once, for want of the file.
  nvrtc_compile(nvrtc, {"layout.cu", "", {"--use-pch=/nonexistent/layout.pch"}, {}});
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(nvrtc.compile), &library) == 0) return "";
  std::string heap = mapping_of(kHeapBytes);
  return heap.empty() ? "" : fmt::format("heap {} library {}", heap, library.dli_fbase);
}

Pch find_or_make_pch(const Nvrtc& nvrtc, const std::string& layout, const PchRequest& request,
                     const std::vector<std::string>& options) {
  Pch pch;
  std::string key = sha256_hex(layout + "\n" + request.prefix + "\n" + request.stamp).substr(0, 24);
  fs::path file = request.folder / (key + ".pch");
  std::error_code ec;
  if (fs::exists(file, ec)) {
    ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // recently used
    pch.file = file;
    return pch;
  }
  auto lock = FileLock::try_acquire(request.folder / (key + ".lock"));
  if (!lock) {
    pch.why_not = "another process is making it";
    return pch;
  }
  if (!fs::exists(file, ec)) {
    pch.why_not = make_pch(nvrtc, file, options);
    if (!pch.why_not.empty()) return pch;
    pch.created = true;
  }
  pch.file = file;
  return pch;
}

bool strip_pch_messages(std::string& log) {
  bool used = false, damaged = false;
  std::string kept;
  bool skip_remark = false;  // NVRTC adds a remark on warnings, and blank lines, below
  for (std::string_view line : lines_of(log)) {
    if (contains(line, ": using precompiled header file \"")) {
      used = true;
      skip_remark = true;
      continue;
    }
    damaged = damaged || contains(line, "error: invalid precompiled header file");
    if (starts_with(line, "Warning #") && contains(line, "precompiled header")) {
      skip_remark = true;
      continue;
    }
    if (skip_remark && (line.empty() || starts_with(line, "Remark: The warnings can be"))) continue;
    skip_remark = false;
    kept += line;
    kept += '\n';
  }
  log = trim(kept).empty() ? "" : kept;
  return used && !damaged;
}

}  // namespace kp
