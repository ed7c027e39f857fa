#include "verdict/sandbox.h"

#include <cstdlib>

#include "base/text.h"

extern char** environ;

namespace kp {

namespace {

// Names, or beginnings of names that end with '*'. Nothing here may hold a secret.
constexpr std::string_view kAllowed[] = {"PATH",
                                         "LANG",
                                         "LC_*",
                                         "TZ",
                                         "LD_LIBRARY_PATH",
                                         "LIBRARY_PATH",
                                         "CPATH",
                                         "CUDA_HOME",
                                         "CUDA_PATH",
                                         "CUDA_VISIBLE_DEVICES",
                                         "CUDA_MODULE_LOADING",
                                         "CUDA_DEVICE_ORDER",
                                         "NVIDIA_VISIBLE_DEVICES",
                                         "CC",
                                         "CXX",
                                         "CUDAHOSTCXX",
                                         "NVCC_*",
                                         "CUTLASS_PATH",
                                         "TORCH_CUDA_ARCH_LIST",
                                         "TRITON_PTXAS_PATH",
                                         "VIRTUAL_ENV",
                                         "OMP_NUM_THREADS",
                                         "MAX_JOBS"};

bool allowed(std::string_view name) {
  for (std::string_view pattern : kAllowed)
    if (ends_with(pattern, "*") ? starts_with(name, pattern.substr(0, pattern.size() - 1))
                                : name == pattern)
      return true;
  return false;
}

}  // namespace

std::map<std::string, std::string> allowed_environment() {
  std::map<std::string, std::string> env;
  for (char** e = environ; *e != nullptr; ++e) {
    std::string_view entry = *e;
    std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && allowed(entry.substr(0, equals)))
      env.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

ProcessOptions in_sandbox(const SandboxOptions& o) {
  Json spec = {{"argv", o.argv},
               {"scratch", o.scratch.string()},
               {"readable", o.readable},
               {"memory_bytes", o.limits.memory_bytes},
               {"processes", o.limits.processes},
               {"cpu_seconds", o.limits.cpu_seconds},
               {"file_bytes", o.limits.file_bytes}};
  ProcessOptions process;
  fs::path helper = o.helper.empty() ? own_program() : o.helper;
  process.argv = {helper.string(), "sandbox", dump_json(spec)};
  process.unset_env = {"*"};
  process.env = allowed_environment();
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME"})
    process.env[name] = o.scratch.string();
  for (const auto& [name, value] : o.env) process.env[name] = value;
  process.folder = o.scratch.string();
  process.stderr_path = o.stderr_path;
  return process;
}

Result<std::vector<SandboxLayer>> parse_layers(std::string_view line) {
  KP_ASSIGN(Json json, parse_json(line, "sandbox"));
  std::vector<SandboxLayer> layers;
  for (const auto& entry : json.value("sandbox", Json::array()))
    layers.push_back({string_or(entry, "layer", ""), bool_or(entry, "works", false),
                      string_or(entry, "detail", "")});
  if (layers.empty()) return fail("the sandbox reported no layers: " + std::string(line));
  return layers;
}

Result<std::vector<SandboxLayer>> probe_sandbox(const fs::path& helper) {
  KP_ASSIGN(TempFolder scratch, TempFolder::make("kernelpro-sandbox"));
  SandboxOptions options;
  options.argv = {"/bin/true"};
  options.scratch = scratch.path();
  options.helper = helper;
  KP_ASSIGN(ProcessOutput output, run_process(in_sandbox(options), "", 20));
  auto lines = lines_of(output.out);
  if (lines.empty()) return fail("the sandbox did not start: " + output.how_it_ended());
  KP_ASSIGN(std::vector<SandboxLayer> layers, parse_layers(lines.front()));
  if (output.exit_code != 0)
    return fail("a command in the sandbox failed: " + output.how_it_ended());
  return layers;
}

}  // namespace kp
