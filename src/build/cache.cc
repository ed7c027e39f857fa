#include "build/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "base/hash.h"

namespace kp {

namespace {

const char* const kHint = "set KERNELPRO_CACHE to a folder that you may write to";

const char* name_of(Diagnostic::Severity severity) {
  return severity == Diagnostic::Severity::error     ? "error"
         : severity == Diagnostic::Severity::warning ? "warning"
                                                     : "note";
}

Json to_json(const Diagnostic& d) {
  return {{"severity", name_of(d.severity)},
          {"line", d.line},
          {"column", d.column},
          {"file", d.file},
          {"message", d.message}};
}

Json to_json(const KernelResources& k) {
  return {
      {"kernel", k.params.kernel},
      {"symbol", k.symbol},
      {"parameter_sizes", k.params.sizes},
      {"max_threads", k.params.max_threads},
      {"static_smem", k.params.static_smem},
      {"registers", k.registers},
      {"stack_bytes", k.stack_bytes},
      {"spill_store_bytes", k.spill_store_bytes},
      {"spill_load_bytes", k.spill_load_bytes},
      {"barriers", k.barriers},
      {"required_cluster", {k.required_cluster[0], k.required_cluster[1], k.required_cluster[2]}}};
}

Diagnostic diagnostic_from_json(const Json& json) {
  Diagnostic d;
  std::string severity = string_or(json, "severity", "error");
  d.severity = severity == "warning" ? Diagnostic::Severity::warning
               : severity == "note"  ? Diagnostic::Severity::note
                                     : Diagnostic::Severity::error;
  d.line = static_cast<int>(int_or(json, "line", 0));
  d.column = static_cast<int>(int_or(json, "column", 0));
  d.file = string_or(json, "file", "");
  d.message = string_or(json, "message", "");
  return d;
}

std::uint32_t u32(const Json& json, const char* key) {
  return static_cast<std::uint32_t>(int_or(json, key, 0));
}

Result<KernelResources> kernel_from_json(const Json& json) {
  KernelResources k;
  KP_ASSIGN(k.params.kernel, get_string(json, "kernel", "kernel"));
  KP_ASSIGN(k.symbol, get_string(json, "symbol", "kernel"));
  KP_ASSIGN(std::vector<std::int64_t> sizes, get_ints(json, "parameter_sizes", "kernel"));
  for (std::int64_t size : sizes) k.params.sizes.push_back(static_cast<std::uint32_t>(size));
  k.params.max_threads = u32(json, "max_threads");
  k.params.static_smem = u32(json, "static_smem");
  k.registers = u32(json, "registers");
  k.stack_bytes = u32(json, "stack_bytes");
  k.spill_store_bytes = u32(json, "spill_store_bytes");
  k.spill_load_bytes = u32(json, "spill_load_bytes");
  k.barriers = u32(json, "barriers");
  KP_ASSIGN(std::vector<std::int64_t> cluster, get_ints(json, "required_cluster", "kernel"));
  for (std::size_t i = 0; i < 3 && i < cluster.size(); ++i)
    k.required_cluster[i] = static_cast<std::uint32_t>(cluster[i]);
  return k;
}

Result<Build> build_from_json(const Json& json) {
  Build b;
  KP_ASSIGN(b.ok, get_bool(json, "ok", "build.json"));
  KP_ASSIGN(b.key, get_string(json, "key", "build.json"));
  KP_ASSIGN(b.log, get_string(json, "log", "build.json"));
  b.arch = string_or(json, "arch", "");
  b.precompiled = string_or(json, "precompiled", "");
  for (const Json& k : json.value("kernels", Json::array())) {
    KP_ASSIGN(KernelResources kernel, kernel_from_json(k));
    b.kernels.push_back(std::move(kernel));
  }
  for (const Json& d : json.value("diagnostics", Json::array()))
    b.diagnostics.push_back(diagnostic_from_json(d));
  return b;
}

Status write_entry(const fs::path& folder, const Build& build) {
  Json json = to_json(build);
  if (build.ok) {
    KP_ASSIGN(std::string cubin, read_file(build.cubin));
    KP_TRY(write_file(folder / "kernel.cubin", cubin));
    json["cubin_sha256"] = sha256_hex(cubin);
  }
  KP_TRY(write_file(folder / "source.cu", build.source));
  return write_file(folder / "build.json", dump_json(json, 1) + "\n");
}

}  // namespace

Json to_json(const Build& build) {
  Json json = {{"ok", build.ok},
               {"key", build.key},
               {"arch", build.arch},
               {"cubin", build.cubin.string()},
               {"seconds", build.seconds},
               {"cached", build.cached},
               {"timed_out", build.timed_out},
               {"precompiled", build.precompiled}};
  json["kernels"] = Json::array();
  for (const auto& k : build.kernels) json["kernels"].push_back(to_json(k));
  json["diagnostics"] = Json::array();
  for (const auto& d : build.diagnostics) json["diagnostics"].push_back(to_json(d));
  json["log"] = build.log;
  return json;
}

fs::path entry_folder(const fs::path& cache, const std::string& key) {
  return cache / key.substr(0, 2) / key;
}

std::optional<Build> read_entry(const fs::path& cache, const std::string& key) {
  fs::path folder = entry_folder(cache, key);
  auto text = read_file(folder / "build.json");
  if (!text) return std::nullopt;
  auto json = parse_json(*text, "build.json");
  if (!json || !json->is_object()) return std::nullopt;
  auto build = build_from_json(*json);
  if (!build || build->key != key) return std::nullopt;
  if (build->ok) {
    build->cubin = folder / "kernel.cubin";
    auto cubin = read_file(build->cubin);
    if (!cubin || sha256_hex(*cubin) != string_or(*json, "cubin_sha256", "")) return std::nullopt;
  }
  build->cached = true;
  return *build;
}

Status publish_entry(const fs::path& cache, Build& build) {
  static std::atomic<int> serial{0};
  const fs::path folder = entry_folder(cache, build.key);
  const fs::path temporary =
      cache / "tmp" / fmt::format("{}-{}-{}", build.key.substr(0, 16), ::getpid(), serial++);
  KP_TRY(make_folder(folder.parent_path()));
  std::error_code ec;
  if (auto written = write_entry(temporary, build); !written) {
    fs::remove_all(temporary, ec);
    return fail(written.error().message, kHint);
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    fs::rename(temporary, folder, ec);
    if (!ec) break;
    if (read_entry(cache, build.key)) break;  // another process was faster
    // A damaged entry stands there: out of the way with it, in one step.
    fs::path aside = temporary;
    aside += ".damaged";
    fs::rename(folder, aside, ec);
    fs::remove_all(aside, ec);
  }
  bool whole = read_entry(cache, build.key).has_value();
  fs::remove_all(temporary, ec);
  if (!whole)
    return fail(fmt::format("{}: the build could not be kept there", folder.string()), kHint);
  if (build.ok) build.cubin = folder / "kernel.cubin";
  return {};
}

Status prepare_cache(const fs::path& cache) {
  if (auto made = make_folder(cache / "tmp"); !made) return fail(made.error().message, kHint);
  if (::access((cache / "tmp").c_str(), W_OK | X_OK) != 0)
    return fail(fmt::format("{}: the build cache cannot be written", cache.string()), kHint);
  return {};
}

}  // namespace kp
