// kernelpro doctor: what works here, what does not, and what to do about it.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "app/commands.h"
#include "base/assets.h"
#include "base/text.h"
#include "build/build.h"
#include "build/toolkit.h"
#include "device/driver.h"
#include "verdict/oracle.h"
#include "verdict/sandbox.h"

namespace kp {

namespace {

enum class Health { works, limited, missing };

struct Check {
  std::string name;
  Health health = Health::missing;
  std::string found;   // what is there, or what is wrong
  std::string advice;  // what to do; empty when it works
};

std::string_view name_of(Health health) {
  switch (health) {
    case Health::works:
      return "works";
    case Health::limited:
      return "limited";
    case Health::missing:
      return "missing";
  }
  return "?";
}

Check check_driver(bool& gpu) {
  Check c{"GPU and driver", Health::missing, "", ""};
  auto driver = load_driver();
  if (!driver) {
    c.found = driver.error().message;
    c.advice = driver.error().hint +
               "; without it kernelpro reads recorded telemetry (profile FILE) and compiles only";
    return c;
  }
  int count = 0;
  driver->cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    char name[256] = {};
    std::size_t bytes = 0;
    int major = 0;
    int minor = 0;
    driver->cuDeviceGet(&device, i);
    driver->cuDeviceGetName(name, sizeof name - 1, device);
    driver->cuDeviceTotalMem(&bytes, device);
    driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    c.found += fmt::format("{}{}: {}, compute capability {}.{}, {:.0f} GiB", i == 0 ? "" : "; ", i,
                           name, major, minor, static_cast<double>(bytes) / (1 << 30));
  }
  gpu = count > 0;
  c.health = gpu ? Health::works : Health::missing;
  if (!gpu) {
    c.found = "the driver is there, and no GPU";
    c.advice = "check nvidia-smi -L and CUDA_VISIBLE_DEVICES";
  }
  return c;
}

Check check_compiler(const Toolkit& toolkit) {
  Check c{"compiler (NVRTC)", Health::works, toolkit.nvrtc, ""};
  auto candidate = parse_candidate(asset("cuda/probe.cu"), "probe.cu");
  KP_CHECK(candidate);
  BuildOptions options;
  options.arch = "sm_80";
  auto built = build(*candidate, options);
  if (!built) {
    c.health = Health::missing;
    c.found = built.error().message;
    c.advice = built.error().hint;
  } else if (!built->ok) {
    c.health = Health::limited;
    c.found += ": a trivial kernel does not compile: " + describe_diagnostics(*built, 1);
    c.advice = "NVRTC and the CUDA headers should be of one version; set CUDA_HOME";
  } else {
    c.found += built->cached ? ", a kernel compiles (cached)"
                             : fmt::format(", a kernel compiles in {:.2f} s", built->seconds);
  }
  return c;
}

Check check_file(std::string name, const std::string& path, std::string missing,
                 std::string advice) {
  if (path.empty())
    return {std::move(name), Health::missing, std::move(missing), std::move(advice)};
  return {std::move(name), Health::works, path, ""};
}

// The kernel module says whether ordinary users may read counters.
Check check_counters(bool gpu) {
  Check c{"counter permission", Health::missing, "no GPU", ""};
  if (!gpu) return c;
  auto text = read_file("/proc/driver/nvidia/params");
  bool admin_only = text && contains(*text, "RmProfilingAdminOnly: 1");
  c.health = Health::works;
  if (!text) {
    c.health = Health::limited;
    c.found = "unknown: /proc/driver/nvidia/params cannot be read";
    c.advice = "kernelpro profile shows whether counters can be read";
  } else if (!admin_only) {
    c.found = "any user may read them";
  } else if (::geteuid() == 0) {
    c.found = "root only, and this is root";
  } else {
    c.health = Health::limited;
    c.found = "root only (ERR_NVGPUCTRPERM)";
    c.advice =
        "run as root, or: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > "
        "/etc/modprobe.d/nvidia-profiling.conf, then reboot; in a container add "
        "--cap-add=SYS_ADMIN";
  }
  return c;
}

Check check_torch(const std::string& asked) {
  auto python = find_python(asked);
  if (!python)
    return {"PyTorch", Health::missing, python.error().message,
            "needed for .py tasks only: " + python.error().hint};
  return {"PyTorch", Health::works, *python, ""};
}

Check check_keys() {
  Check c{"model keys", Health::limited, "", ""};
  for (const char* name : {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      c.found += (c.found.empty() ? "" : ", ") + std::string(name) + " is set";
  if (c.found.empty()) {
    c.found = "none is set";
    c.advice =
        "optimize --provider openai needs OPENAI_API_KEY (or --api-key-env NAME and --base-url); "
        "--provider command and mailbox need none";
  } else {
    c.health = Health::works;
  }
  return c;
}

Check check_cache() {
  fs::path folder = cache_folder();
  auto written = write_file(folder / "doctor.txt", "ok\n");
  if (!written)
    return {"cache", Health::missing, written.error().message,
            "set KERNELPRO_CACHE to a folder that you may write to"};
  return {"cache", Health::works, folder.string(), ""};
}

// One line a layer of the sandbox that PyTorch modules run in.
std::vector<Check> check_sandbox() {
  auto layers = probe_sandbox();
  if (!layers)
    return {{"sandbox", Health::missing, layers.error().message,
             "PyTorch modules cannot be judged; plans need no sandbox"}};
  std::vector<Check> checks;
  for (const auto& layer : *layers)
    checks.push_back(
        {"sandbox: " + layer.name, layer.works ? Health::works : Health::limited, layer.detail,
         layer.works ? "" : "modules are judged with the other layers; see docs/security.md"});
  return checks;
}

int run_doctor(bool json, const std::string& python) {
  Toolkit toolkit = find_toolkit();
  bool gpu = false;
  std::vector<Check> checks;
  checks.push_back(check_driver(gpu));
  checks.push_back(check_compiler(toolkit));
  checks.push_back(check_file("CUDA headers", join(toolkit.include_dirs, ", "), "not found",
                              "install the CUDA toolkit, or pip install nvidia-cuda-runtime"));
  checks.push_back(check_file("CUTLASS / CuTe", toolkit.cutlass_include, "not found",
                              "set CUTLASS_PATH to a checkout, or pip install nvidia-cutlass; "
                              "candidates then may include CuTe"));
  checks.push_back(check_counters(gpu));
  checks.push_back(check_file("Nsight Compute (ncu)", toolkit.ncu, "not found",
                              "install Nsight Compute; without it profiles have no counters"));
  checks.push_back(check_file("Nsight Systems (nsys)", toolkit.nsys, "not found",
                              "optional: install Nsight Systems"));
  std::string disassembler = toolkit.nvdisasm.empty() ? toolkit.cuobjdump : toolkit.nvdisasm;
  checks.push_back(check_file("disassembler", disassembler, "neither nvdisasm nor cuobjdump",
                              "install the CUDA toolkit, or pip install nvidia-cuda-nvdisasm; "
                              "without it the tools that read SASS are silent"));
  checks.push_back(check_file("compute-sanitizer", toolkit.compute_sanitizer, "not found",
                              "optional: part of the CUDA toolkit"));
  checks.push_back(check_torch(python));
  checks.push_back(check_keys());
  checks.push_back(check_cache());
  for (auto& layer : check_sandbox()) checks.push_back(std::move(layer));
  if (json) {
    Json out = Json::array();
    for (const auto& c : checks)
      out.push_back({{"check", c.name},
                     {"health", name_of(c.health)},
                     {"found", c.found},
                     {"advice", c.advice}});
    print_json({{"version", KERNELPRO_VERSION}, {"gpu", gpu}, {"checks", out}});
    return kExitOk;
  }
  for (const auto& c : checks) {
    fmt::print("{:<8} {:<24} {}\n", name_of(c.health), c.name, c.found);
    if (!c.advice.empty()) fmt::print("{:<8} {:<24} -> {}\n", "", "", c.advice);
  }
  fmt::print("\n{}\n",
             gpu ? "This machine can judge, profile and optimize."
                 : "No GPU: kernelpro can compile candidates and read recorded telemetry "
                   "here (kernelpro profile FILE...), and cannot judge or time anything.");
  return kExitOk;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  auto python = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("doctor", "What works here, what does not, and what to do");
  sub->add_flag("--json", *json, "as JSON on stdout");
  sub->add_option("--python", *python, "python3 that has PyTorch (default: found)");
  sub->callback([=, &exit_code] { exit_code = run_doctor(*json, *python); });
}

}  // namespace kp
