// This program's own processes: the runner, the native oracle, the compiler, the sandbox.
#include <memory>

#include "app/commands.h"
#include "base/rng.h"
#include "build/compile_process.h"
#include "verdict/judge_module.h"
#include "verdict/native_oracle.h"
#include "verdict/sandbox.h"
#include "verdict/worker.h"

namespace kp {

namespace {

void add_worker(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("worker", "the runner (docs/protocols.md)")->group("");
  auto device = std::make_shared<int>(0);
  auto once = std::make_shared<std::string>();
  command->add_option("--device", *device, "CUDA device index");
  command->add_option("--once", *once, "run the plan in this file once, and end");
  command->callback(
      [=, &exit_code] { exit_code = once->empty() ? worker_main(*device) : worker_once(*once); });
}

void add_oracle(CLI::App& app, int& exit_code) {
  struct Options {
    NativeOracleOptions native;
    std::string device = "cuda:0";
    std::string precision;
    std::optional<double> atol, rtol;
    double gpu_memory = 0;
    bool compile = false;
  };
  CLI::App* command =
      app.add_subcommand("oracle", "the oracle of native tasks (docs/protocols.md)")->group("");
  auto o = std::make_shared<Options>();
  command->add_option("TASK", o->native.task, "native .toml")->required();
  command->add_option("--device", o->device, "cuda:N");
  command->add_option("--precision", o->precision, "strict, tf32 or half");
  command->add_option("--atol", o->atol, "absolute tolerance");
  command->add_option("--rtol", o->rtol, "relative tolerance");
  command->add_option("--init-seed", o->native.init_seed, "seed of the parameters");
  command->add_flag("--force", o->native.force, "takes unfit tasks");
  command->add_flag("--compile", o->compile, "accepted for symmetry with oracle.py");
  command->add_option("--gpu-memory", o->gpu_memory, "accepted for symmetry with oracle.py");
  command->callback([o, &exit_code] {
    if (auto colon = o->device.find(':'); colon != std::string::npos)
      o->native.device = std::atoi(o->device.c_str() + colon + 1);
    if (auto precision = parse_precision(o->precision)) {
      o->native.precision = *precision;
      o->native.precision_given = true;
    }
    if (o->atol || o->rtol)
      o->native.tolerance = Tolerance{o->atol.value_or(0), o->rtol.value_or(0)};
    exit_code = native_oracle_main(o->native);
  });
}

void add_compile(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("compile", "one NVRTC compile (docs/build.md)")->group("");
  command->allow_extras();
  command->callback([&exit_code] { exit_code = compile_process_main(); });
}

void add_sandbox(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("sandbox", "a command in the sandbox (docs/security.md)")->group("");
  auto spec = std::make_shared<std::string>();
  command->add_option("SPEC", *spec, "JSON")->required();
  command->callback([=, &exit_code] { exit_code = sandbox_main(*spec); });
}

// For tests: also on a machine without a GPU.
struct JudgeModule {
  std::string task;
  std::vector<std::string> candidates;
  std::string device = "cuda:0", precision;
  int seeds = 2;
  double run_timeout_s = 10;
  bool no_timing = false;
};

Result<Json> judge_modules(const JudgeModule& o) {
  OracleOptions oracle_options;
  oracle_options.device = o.device;
  if (!o.precision.empty()) {
    KP_ASSIGN(oracle_options.precision, parse_precision(o.precision));
  }
  KP_ASSIGN(Oracle oracle, Oracle::start(o.task, oracle_options));
  ModuleOptions options;
  options.process.device = o.device;
  options.run_timeout_s = o.run_timeout_s;
  options.timing = !o.no_timing;
  for (int i = 0; i < o.seeds; ++i) options.seeds.push_back(secret_seed());
  ModuleProcesses processes(options.process, static_cast<int>(o.candidates.size()));
  Json results = Json::array();
  for (const auto& candidate : o.candidates) {
    KP_ASSIGN(ModuleProcess process, processes.next());
    KP_ASSIGN(Verdict verdict, judge_module(oracle, options, candidate, std::move(process)));
    results.push_back({{"candidate", candidate}, {"verdict", to_json(verdict)}});
  }
  return Json{{"results", results}};
}

void add_judge_module(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("judge-module", "PyTorch modules, on any device")->group("");
  auto o = std::make_shared<JudgeModule>();
  command->add_option("TASK", o->task, "KernelBench-format .py")->required();
  command->add_option("CANDIDATE", o->candidates, ".py files")->required();
  command->add_option("--device", o->device, "cuda:N or cpu");
  command->add_option("--precision", o->precision, "strict, tf32 or half");
  command->add_option("--seeds", o->seeds, "secret seeds");
  command->add_option("--run-timeout", o->run_timeout_s, "seconds");
  command->add_flag("--no-timing", o->no_timing, "correctness only");
  command->callback([o, &exit_code] {
    auto done = judge_modules(*o);
    if (done) print_json(*done);
    exit_code = done ? static_cast<int>(kExitOk) : report_error(done.error(), true);
  });
}

}  // namespace

void add_process_commands(CLI::App& app, int& exit_code) {
  add_worker(app, exit_code);
  add_oracle(app, exit_code);
  add_compile(app, exit_code);
  add_sandbox(app, exit_code);
  add_judge_module(app, exit_code);
}

}  // namespace kp
