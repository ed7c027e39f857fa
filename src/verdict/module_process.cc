#include "verdict/module_process.h"

#include <fmt/format.h>
#include <signal.h>

#include "base/assets.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"

namespace kp {

namespace {

constexpr double kNow = 1e-4;  // seconds: what is there already
constexpr std::size_t kLogLines = 12;

// The runner's package and the oracle's, whose tensors and memory it shares; no task is in them.
Result<fs::path> unpack_runner() {
  std::vector<std::string_view> paths = asset_paths("module/");
  for (auto path : asset_paths("oracle/")) paths.push_back(path);
  std::string all;
  for (auto path : paths) all += fmt::format("{}\n{}\n", path, asset(path));
  fs::path folder = cache_folder() / "module" / sha256_hex(all).substr(0, 16);
  for (auto path : paths) {
    if (!ends_with(path, ".py")) continue;
    auto there = read_file(folder / path);
    if (!there || *there != asset(path)) KP_TRY(write_file(folder / path, asset(path)));
  }
  return folder;
}

// Folders that this python imports from, and where its user's packages lie.
Result<Json> python_folders(const std::string& python) {
  ProcessOptions options;
  options.argv = {python, "-c",
                  "import json, os, site, sys\n"
                  "print(json.dumps({'folders': [p for p in [sys.prefix, sys.base_prefix, "
                  "os.path.dirname(os.path.realpath(sys.executable)), *sys.path] if p], "
                  "'user': site.getuserbase()}))"};
  KP_ASSIGN(ProcessOutput output, run_process(options, "", 30));
  return parse_json(output.out, python);
}

void add_folders_of(const char* variable, std::vector<std::string>& readable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return;
  for (auto folder : split(value, ':'))
    if (starts_with(folder, "/") && folder != "/") readable.emplace_back(folder);
}

}  // namespace

Result<ModuleProcess> ModuleProcess::begin(const ModuleProcessOptions& options) {
  ModuleProcess module;
  KP_ASSIGN(TempFolder scratch, TempFolder::make("kernelpro-module"));
  module.scratch_.emplace(std::move(scratch));
  module.log_path_ = options.log_path;
  if (module.log_path_.empty()) {
    KP_ASSIGN(TempFolder folder, TempFolder::make("kernelpro-module-log"));
    module.log_path_ = (folder.path() / "log").string();
    module.log_folder_.emplace(std::move(folder));
  }
  KP_ASSIGN(std::string python, find_python(options.python));
  KP_ASSIGN(Json folders, python_folders(python));
  KP_ASSIGN(fs::path runner, unpack_runner());
  SandboxOptions sandbox;
  sandbox.argv = {python, "-u", (runner / "module" / "runner.py").string(), "--device",
                  options.device};
  sandbox.scratch = module.scratch();
  for (const auto& f : folders.value("folders", Json::array()))
    if (f.is_string() && f != "/") sandbox.readable.push_back(f.get<std::string>());
  sandbox.readable.push_back(runner.string());
  for (const char* variable : {"LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CUDA_HOME", "CUDA_PATH",
                               "CUTLASS_PATH", "PATH"})
    add_folders_of(variable, sandbox.readable);
  sandbox.limits = options.limits;
  sandbox.stderr_path = module.log_path_;
  sandbox.helper = options.helper;
  const std::string at = module.scratch().string();
  sandbox.env = {{"PYTHONUSERBASE", string_or(folders, "user", "")},
                 {"PYTHONDONTWRITEBYTECODE", "1"},
                 {"TORCH_EXTENSIONS_DIR", at + "/extensions"},
                 {"TRITON_CACHE_DIR", at + "/triton"},
                 {"CUDA_CACHE_PATH", at + "/cuda"},
                 {"TORCHINDUCTOR_CACHE_DIR", at + "/inductor"}};
  KP_ASSIGN(LineProcess process, LineProcess::start(in_sandbox(sandbox)));
  module.process_ = std::make_unique<LineProcess>(std::move(process));
  module.start_timeout_s_ = options.start_timeout_s;
  return module;
}

Status ModuleProcess::await_ready() {
  std::string line;
  const char* hint = "kernelpro doctor says which layers of the sandbox this machine has";
  if (process_->read_line(line, start_timeout_s_) != LineProcess::Read::line)
    return fail("the sandbox did not start: " + process_->how_it_ended(), hint);
  KP_ASSIGN(layers_, parse_layers(line));
  if (process_->read_line(line, start_timeout_s_) != LineProcess::Read::line)
    return fail(fmt::format("the module runner did not start: {}; the end of its log:\n{}",
                            process_->how_it_ended(), log_tail()),
                hint);
  KP_ASSIGN(Json ready, parse_json(line, "module runner"));
  if (bool_or(ready, "ok", false)) return {};
  const Json error = ready.value("error", Json::object());
  return fail("module runner: " + string_or(error, "message", "did not start"),
              string_or(error, "hint", ""));
}

Result<ModuleAnswer> ModuleProcess::ask(Json request, double timeout_s, bool trusted) {
  ModuleAnswer answer;
  auto broken = [&](Outcome outcome, std::string reason) {
    answer.outcome = outcome;
    answer.reason = std::move(reason);
    stop();
    return answer;
  };
  std::string line;
  if (process_->read_line(line, kNow) == LineProcess::Read::line)
    return broken(
        Outcome::dishonest,
        fmt::format("forged answer: the process wrote a line that nobody had asked for: {}",
                    line.substr(0, 80)));
  const std::string nonce = fmt::format("{:016x}", secret_seed());
  const std::string doing = string_or(request, "op", "");
  request["nonce"] = nonce;
  const std::string text = dump_json(request);
  resume();
  Stopwatch watch;
  if (!process_->write_line(text))
    return broken(Outcome::crashed, "the process had gone: " + process_->how_it_ended());
  LineProcess::Read read = process_->read_line(line, timeout_s);
  answer.wall_s = watch.seconds();
  pause();
  if (read == LineProcess::Read::timed_out)
    return broken(Outcome::timed_out, fmt::format("no answer to {} in {:.0f} s", doing, timeout_s));
  if (read == LineProcess::Read::closed)
    return broken(Outcome::crashed,
                  fmt::format("the process ended during {}: {}", doing, process_->how_it_ended()));
  auto body = parse_json(line, "module runner");
  if (!body || !body->is_object() || string_or(*body, "nonce", "") != nonce)
    return broken(
        Outcome::dishonest,
        fmt::format("forged answer: a line without the request's number: {}", line.substr(0, 80)));
  answer.body = std::move(*body);
  if (bool_or(answer.body, "ok", false)) return answer;
  const Json error = answer.body.value("error", Json::object());
  const std::string message = string_or(error, "message", "no reason given");
  auto outcome = parse_outcome(string_or(answer.body, "kind", ""));
  if (!outcome && trusted) return fail("module runner: " + message, string_or(error, "hint", ""));
  // A candidate cannot call itself correct, nor blame the environment.
  answer.outcome = outcome && *outcome != Outcome::correct ? *outcome : Outcome::crashed;
  auto end = message.find('\n');
  answer.reason = message.substr(0, end);
  answer.detail = end == std::string::npos ? string_or(error, "hint", "") : message;
  return answer;
}

void ModuleProcess::pause() {
  if (process_ && process_->alive()) ::kill(-process_->pid(), SIGSTOP);
}

void ModuleProcess::resume() {
  if (process_ && process_->alive()) ::kill(-process_->pid(), SIGCONT);
}

void ModuleProcess::stop() {
  if (process_) process_->kill();
}

std::string ModuleProcess::log_tail() const {
  auto text = read_file(log_path_);
  if (!text) return "";
  auto lines = lines_of(*text);
  std::vector<std::string> last;
  for (std::size_t i = lines.size() > kLogLines ? lines.size() - kLogLines : 0; i < lines.size();
       ++i)
    last.emplace_back(lines[i]);
  return join(last, "\n");
}

}  // namespace kp
