#include "build/build.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/assets.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "build/cache.h"
#include "build/compile_process.h"
#include "build/cubin.h"
#include "build/diagnostics.h"
#include "build/includes.h"
#include "build/toolkit.h"
#include "candidate/kernel_name.h"

namespace kp {

namespace {

// Raised whenever an entry's content or meaning changes.
constexpr const char* kFormat = "1";

// A file's identity without reading it: path, bytes, time of last change.
std::string stamp_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return path.string() + ": none";
  return fmt::format("{}: {} bytes, {}.{:09}", path.string(), info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

// "relu v2.cu" → "relu_v2.cu": the name under which the source is compiled, as messages show it.
std::string file_name_of(const std::string& name) {
  std::string file = fs::path(name).filename().string();
  for (char& c : file)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  if (file.empty()) file = "candidate";
  return ends_with(file, ".cu") ? file : file + ".cu";
}

// Our forwarding headers as files, once a content.
Result<fs::path> write_headers(const fs::path& cache) {
  const std::string_view kPrefix = "nvrtc/include/";
  std::vector<std::string_view> paths = asset_paths(kPrefix);
  std::string all;
  for (std::string_view path : paths) {
    all += path;
    all += '\0';
    all += asset(path);
  }
  fs::path folder = cache / ("include-" + sha256_hex(all).substr(0, 16));
  std::error_code ec;
  if (fs::exists(folder / "complete", ec)) return folder;
  for (std::string_view path : paths)  // each file by rename: several processes may do this at once
    KP_TRY(write_file(folder / path.substr(kPrefix.size()), asset(path)));
  KP_TRY(write_file(folder / "complete", ""));
  return folder;
}

// Template kernels that the plan names exist only when somebody instantiates them.
void add_template_names(const std::vector<PlanStep>& steps, std::set<std::string>& names) {
  for (const PlanStep& step : steps) {
    if (const auto* kernel = std::get_if<PlanKernel>(&step);
        kernel != nullptr && contains(kernel->kernel, "<"))
      names.insert(kernel->kernel);
    if (const auto* repeat = std::get_if<PlanRepeat>(&step))
      add_template_names(repeat->steps, names);
  }
}

// Defines go into the source, below the pre-included headers: CUTLASS has members named `real`.
std::string with_defines(const std::string& source, const std::vector<std::string>& defines) {
  if (defines.empty()) return source;
  std::string text;
  for (const std::string& define : defines) {
    std::size_t equals = define.find('=');
    std::string value = equals == std::string::npos ? "1" : define.substr(equals + 1);
    text += fmt::format("#define {} {}\n", define.substr(0, equals), value);
  }
  return text + "#line 1\n" + source;
}

struct Recipe {
  CompileRequest request;
  std::string key;
};

Recipe make_recipe(const Candidate& candidate, const BuildOptions& options, const Toolkit& toolkit,
                   const fs::path& cache, const fs::path& headers) {
  Recipe recipe;
  CompileRequest& r = recipe.request;
  r.nvrtc = toolkit.nvrtc;
  r.name = file_name_of(candidate.name);
  r.source = with_defines(candidate.source, options.defines);
  // C++17 is what nvcc and PyTorch's extensions take by default: an exported candidate compiles
  // there.
  r.options = {"--gpu-architecture=" + options.arch, "-std=c++17",
               "--device-as-default-execution-space", "--ptxas-options=-v"};
  if (options.line_info) r.options.emplace_back("-lineinfo");
  if (!toolkit.cutlass_include.empty()) r.options.push_back("-I" + toolkit.cutlass_include);
  for (const std::string& dir : toolkit.include_dirs) r.options.push_back("-I" + dir);
  r.options.push_back("-I" + headers.string());  // last: real headers come first
  std::set<std::string> names;
  add_template_names(candidate.plan.steps, names);
  r.name_expressions.assign(names.begin(), names.end());
  std::string prefix = precompiled_prefix(candidate.source);
  if (prefix == "kernelpro/cute.h" && toolkit.cutlass_include.empty()) prefix.clear();
  if (!prefix.empty()) r.options.push_back("--pre-include=" + prefix);

  std::string stamp = "format " + std::string(kFormat) + "\n" + stamp_of(toolkit.nvrtc) + "\n";
  for (const std::string& dir : toolkit.include_dirs)
    stamp += stamp_of(fs::path(dir) / "cuda_fp16.h") + "\n";
  if (!toolkit.cutlass_include.empty())
    stamp +=
        read_file(fs::path(toolkit.cutlass_include) / "cutlass" / "version.h").value_or("") + "\n";
  for (const std::string& option : r.options) stamp += option + "\n";
  recipe.key = sha256_hex(fmt::format("{}names {}\nfile {}\n{}", stamp,
                                      join(r.name_expressions, ";"), r.name, r.source));
  r.pch_prefix = prefix;
  r.pch_stamp = stamp;
  r.pch_folder = cache / "pch";
  return recipe;
}

void add_kernels(Build& build, const std::vector<CubinKernel>& kernels, const CompileReply& reply) {
  std::map<std::string, Spills> spills = parse_spills(reply.log);
  for (const CubinKernel& k : kernels) {
    KernelResources r;
    r.symbol = k.symbol;
    r.params.kernel = base_name(k.symbol);
    for (const auto& [name, symbol] : reply.symbols)
      if (symbol == k.symbol) r.params.kernel = name;  // as the plan spells it
    for (const CubinParam& p : k.params) r.params.sizes.push_back(p.size);
    r.params.max_threads = k.max_threads;
    r.params.static_smem = k.static_smem;
    r.registers = k.registers;
    r.stack_bytes = k.stack_bytes;
    r.barriers = k.barriers;
    std::copy(std::begin(k.required_cluster), std::end(k.required_cluster), r.required_cluster);
    if (auto it = spills.find(k.symbol); it != spills.end()) {
      r.spill_store_bytes = it->second.store_bytes;
      r.spill_load_bytes = it->second.load_bytes;
    }
    build.kernels.push_back(std::move(r));
  }
}

void add_error(Build& build, std::string message) {
  build.diagnostics.push_back({Diagnostic::Severity::error, 0, 0, "", std::move(message)});
}

// ptxas's errors get the candidate's lines, in the order in which the log names PTX lines.
void place_ptxas_errors(Build& build, const CompileReply& reply) {
  std::vector<int> lines = ptx_error_lines(reply.log);
  std::size_t next = 0;
  for (Diagnostic& d : build.diagnostics) {
    if (!starts_with(d.message, "ptxas: ") || next >= lines.size()) continue;
    auto it = reply.ptx_lines.find(lines[next++]);
    if (it != reply.ptx_lines.end()) d.line = it->second;
  }
}

Result<CompileReply> compile(CompileRequest request, double timeout_s) {
  Stopwatch watch;
  KP_ASSIGN(CompileReply reply, run_compile_process(request, timeout_s));
  if (!reply.crashed || request.pch_prefix.empty()) return reply;
  // A damaged precompiled header can bring NVRTC down: once more without any.
  std::error_code ec;
  fs::remove_all(request.pch_folder, ec);
  request.pch_prefix.clear();
  KP_ASSIGN(reply, run_compile_process(request, std::max(timeout_s - watch.seconds(), 0.1)));
  if (!reply.crashed) reply.precompiled = "the compiler crashed with it";
  return reply;
}

// A header that is missing on this machine is not wrong: say what would bring it.
void note_missing_cutlass(Build& build) {
  for (const Diagnostic& d : build.diagnostics) {
    if (!contains(d.message, "\"cute/") && !contains(d.message, "\"cutlass/")) continue;
    build.diagnostics.push_back(
        {Diagnostic::Severity::note, 0, 0, "",
         "no CUTLASS headers were found on this machine: set CUTLASS_PATH or "
         "install the nvidia-cutlass wheel"});
    return;
  }
}

Status fill(Build& build, const CompileReply& reply, const CompileRequest& request,
            double timeout_s) {
  build.log = reply.log;
  build.precompiled = reply.precompiled;
  build.timed_out = reply.timed_out;
  build.diagnostics = parse_nvrtc_log(reply.log, request.name);
  place_ptxas_errors(build, reply);
  if (reply.timed_out) {
    add_error(build, fmt::format("compilation did not end within {:g} s: less unrolling, or less "
                                 "work in templates",
                                 timeout_s));
    return {};
  }
  build.ok = reply.compiled;
  if (build.ok) {
    build.cubin = request.cubin;
    KP_ASSIGN(std::string bytes, read_file(build.cubin));
    KP_ASSIGN(std::vector<CubinKernel> kernels, parse_cubin(bytes));
    add_kernels(build, kernels, reply);
    if (build.kernels.empty()) {
      build.ok = false;
      add_error(build,
                "the source has no __global__ function (a template needs to be named in the "
                "plan with its arguments: \"k<128>\")");
    }
  } else if (std::none_of(build.diagnostics.begin(), build.diagnostics.end(), [](const auto& d) {
               return d.severity == Diagnostic::Severity::error;
             })) {
    add_error(build, reply.status + (reply.log.empty() ? "" : ": " + std::string(trim(reply.log))));
  }
  return {};
}

}  // namespace

Result<Build> build(const Candidate& candidate, const BuildOptions& options) {
  Stopwatch watch;
  Build result;
  result.arch = options.arch;
  result.source = candidate.source;
  result.diagnostics = check_includes(candidate.source);
  if (!result.diagnostics.empty()) return result;

  const Toolkit toolkit = find_toolkit();
  const std::string hint =
      "install the CUDA toolkit or the nvidia-cuda-nvrtc wheel, or set CUDA_HOME";
  if (toolkit.nvrtc.empty())
    return fail("no libnvrtc found; looked at " + join(toolkit.searched, ", "), hint);
  const fs::path cache = options.cache.empty() ? cache_folder() / "build" : options.cache;
  KP_TRY(prepare_cache(cache));
  KP_ASSIGN(fs::path headers, write_headers(cache));
  Recipe recipe = make_recipe(candidate, options, toolkit, cache, headers);
  if (auto known = read_entry(cache, recipe.key)) {
    known->source = candidate.source;
    known->seconds = watch.seconds();
    return *known;
  }

  result.key = recipe.key;
  KP_ASSIGN(TempFolder folder, TempFolder::make("kernelpro-compile"));
  // The same for every process, so that the same source gives the same bytes; nothing is written
  // there.
  recipe.request.folder = cache / "candidate";
  KP_TRY(make_folder(recipe.request.folder));
  recipe.request.cubin = folder.path() / "kernel.cubin";
  KP_ASSIGN(CompileReply reply, compile(recipe.request, options.timeout_s));
  KP_TRY(fill(result, reply, recipe.request, options.timeout_s));
  if (toolkit.cutlass_include.empty()) note_missing_cutlass(result);
  // A time-out or crash may be this machine's doing; everything else would come out the same again.
  if (!reply.timed_out && !reply.crashed) KP_TRY(publish_entry(cache, result));
  result.seconds = watch.seconds();
  return result;
}

std::string symbol_of(const Build& build, std::string_view kernel) {
  for (const KernelResources& k : build.kernels)
    if (k.params.kernel == kernel || k.symbol == kernel) return k.symbol;
  return "";
}

}  // namespace kp
