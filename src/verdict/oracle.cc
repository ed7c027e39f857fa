#include "verdict/oracle.h"

#include <fmt/format.h>

#include <cmath>

#include "base/assets.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"

namespace kp {

namespace {

constexpr std::size_t kLogTail = 12;  // lines

std::vector<std::string> pythons() {
  std::vector<std::string> found;
  std::error_code ec;
  auto add_venv = [&](const fs::path& folder) {
    fs::path python = folder / ".venv" / "bin" / "python3";
    if (fs::exists(python, ec)) found.push_back(python.string());
  };
  if (const char* venv = std::getenv("VIRTUAL_ENV"); venv != nullptr && *venv != '\0')
    found.push_back((fs::path(venv) / "bin" / "python3").string());
  add_venv(fs::current_path(ec));
  fs::path folder = own_program().parent_path();
  for (int up = 0; up < 4 && folder.has_parent_path(); ++up, folder = folder.parent_path())
    add_venv(folder);
  found.emplace_back("python3");
  found.emplace_back("/usr/bin/python3");
  return found;
}

// Empty when that python has torch, else why not. Does not import it: that takes seconds, and the
// oracle itself says what is wrong with it then.
std::string lacks_torch(const std::string& python) {
  ProcessOptions options;
  options.argv = {python, "-c",
                  "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('torch') "
                  "else 3)"};
  options.capture_stderr = true;
  auto output = run_process(options, "", 30);
  if (!output) return output.error().message;
  if (output->exit_code == 0) return "";
  if (output->exit_code == 3) return python + ": has no module torch";
  return fmt::format("{}: {}", python, output->how_it_ended());
}

std::string tail_of(const std::string& path) {
  auto text = read_file(path);
  if (!text) return "";
  auto lines = lines_of(*text);
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  std::vector<std::string> last;
  for (std::size_t i = lines.size() > kLogTail ? lines.size() - kLogTail : 0; i < lines.size(); ++i)
    last.emplace_back(lines[i]);
  return join(last, "\n");
}

Result<std::vector<SharedTensor>> shared_tensors(const Json& answer) {
  std::vector<SharedTensor> tensors;
  for (const auto& t : answer.value("tensors", Json::array())) {
    KP_ASSIGN(SharedTensor tensor, shared_tensor_from_json(t));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<std::string>> command_line(const fs::path& task, const OracleOptions& options) {
  std::vector<std::string> argv;
  if (task.extension() == ".toml") {
    argv = {own_program().string(), "oracle", task.string()};
  } else {
    KP_ASSIGN(std::string python, find_python(options.python));
    KP_ASSIGN(fs::path script, unpack_oracle());
    argv = {python,        "-u",         script.string(),
            task.string(), "--bytecode", (cache_folder() / "bytecode").string()};
  }
  argv.insert(argv.end(),
              {"--device", options.device, "--precision", std::string(name_of(options.precision)),
               "--init-seed", std::to_string(options.init_seed.value_or(secret_seed()))});
  if (options.tolerance)
    argv.insert(argv.end(), {"--atol", fmt::format("{}", options.tolerance->atol), "--rtol",
                             fmt::format("{}", options.tolerance->rtol)});
  if (options.force) argv.emplace_back("--force");
  if (options.compile_baseline) argv.emplace_back("--compile");
  if (options.gpu_memory_gib)
    argv.insert(argv.end(), {"--gpu-memory", fmt::format("{}", *options.gpu_memory_gib)});
  return argv;
}

}  // namespace

Json to_json(const SharedTensor& tensor) {
  return {{"name", tensor.name},
          {"handle", tensor.handle},
          {"offset", tensor.offset},
          {"bytes", tensor.bytes}};
}

Result<SharedTensor> shared_tensor_from_json(const Json& json) {
  SharedTensor tensor;
  KP_ASSIGN(tensor.name, get_string(json, "name", "shared tensor"));
  const std::string where = "shared tensor " + tensor.name;
  KP_ASSIGN(tensor.handle, get_string(json, "handle", where));
  KP_ASSIGN(tensor.offset, get_int(json, "offset", where));
  KP_ASSIGN(tensor.bytes, get_int(json, "bytes", where));
  bool hex = tensor.handle.size() == 128 &&
             tensor.handle.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!hex) return fail(where + ": \"handle\" must be 128 hexadecimal digits");
  if (tensor.offset < 0 || tensor.bytes < 0)
    return fail(where + ": \"offset\" and \"bytes\" must not be negative");
  return tensor;
}

Result<std::string> find_python(const std::string& wanted) {
  std::string given = wanted;
  if (const char* env = std::getenv("KERNELPRO_PYTHON"); given.empty() && env != nullptr)
    given = env;
  std::vector<std::string> reasons;
  for (const auto& python : given.empty() ? pythons() : std::vector<std::string>{given}) {
    std::string reason = lacks_torch(python);
    if (reason.empty()) return python;
    reasons.push_back(std::move(reason));
  }
  return fail("PyTorch tasks need a python with torch: " + join(reasons, "; "),
              "install torch, or name the python that has it: KERNELPRO_PYTHON=/path/to/python3");
}

Result<fs::path> unpack_oracle() {
  const std::string prefix = "oracle/";
  std::string all;
  for (auto path : asset_paths(prefix)) all += fmt::format("{}\n{}\n", path, asset(path));
  fs::path folder = cache_folder() / "oracle" / sha256_hex(all).substr(0, 16);
  for (auto path : asset_paths(prefix)) {
    if (!ends_with(path, ".py")) continue;
    // Compared at every start: the oracle is trusted, its cache may have been touched.
    auto there = read_file(folder / path);
    if (!there || *there != asset(path)) KP_TRY(write_file(folder / path, asset(path)));
  }
  return folder / "oracle" / "oracle.py";
}

Error Oracle::ended(std::string message) {
  process_->kill();
  std::string tail = tail_of(log_path_);
  if (!tail.empty()) message += "; the end of its log:\n" + tail;
  return Error{std::move(message), log_folder_ ? "" : "the whole log is " + log_path_};
}

Result<Json> Oracle::read_answer(std::string_view doing, double timeout_s) {
  std::string line;
  switch (process_->read_line(line, timeout_s)) {
    case LineProcess::Read::timed_out:
      return tl::make_unexpected(
          ended(fmt::format("the oracle gave no answer to {} in {:.0f} s", doing, timeout_s)));
    case LineProcess::Read::closed:
      return tl::make_unexpected(
          ended(fmt::format("the oracle ended during {}: {}", doing, process_->how_it_ended())));
    case LineProcess::Read::line:
      break;
  }
  auto answer = parse_json(line, "oracle");
  if (!answer) return tl::make_unexpected(ended(answer.error().message));
  if (!bool_or(*answer, "ok", false)) {
    failure_kind_ = answer->is_object() ? string_or(*answer, "kind", "environment") : "environment";
    const Json error = answer->is_object() ? answer->value("error", Json::object()) : Json();
    return fail(string_or(error, "message", "the oracle refused " + std::string(doing)),
                string_or(error, "hint", ""));
  }
  stages_.clear();
  for (const auto& stage : answer->value("stages", Json::array()))
    if (stage.is_array() && stage.size() == 2 && stage[0].is_string() && stage[1].is_number())
      stages_.emplace_back(stage[0].get<std::string>(), stage[1].get<double>());
  for (const auto& note : answer->value("notes", Json::array()))
    if (note.is_string()) task_.notes.push_back(note.get<std::string>());
  return answer;
}

Result<Json> Oracle::ask(const Json& request) {
  const std::string doing = string_or(request, "op", "");
  failure_kind_.clear();
  if (!process_->alive())
    return fail(fmt::format("the oracle has ended ({})", process_->how_it_ended()));
  if (auto sent = process_->write_line(dump_json(request)); !sent)
    return tl::make_unexpected(ended("the oracle cannot be reached: " + sent.error().message));
  return read_answer(doing, timeout_s_);
}

Result<Oracle> Oracle::start(const fs::path& task, const OracleOptions& options) {
  std::error_code ec;
  if (!fs::exists(task, ec))
    return fail(task.string() + ": no such file",
                "give a task: a KernelBench-format .py or a native .toml");
  if (fs::is_directory(task, ec)) return fail(task.string() + ": is a folder, not a task file");
  if (task.extension() != ".py" && task.extension() != ".toml")
    return fail(task.string() + ": a task file ends in .py or .toml");
  Oracle oracle;
  oracle.timeout_s_ = options.timeout_s;
  oracle.log_path_ = options.log_path;
  if (oracle.log_path_.empty()) {
    KP_ASSIGN(TempFolder folder, TempFolder::make("kernelpro-oracle"));
    oracle.log_path_ = (folder.path() / "log").string();
    oracle.log_folder_.emplace(std::move(folder));
  }
  ProcessOptions process;
  KP_ASSIGN(process.argv, command_line(task, options));
  // A native oracle is there at once; PyTorch's takes seconds before it needs the GPU.
  bool gate = options.before_device && task.extension() == ".py";
  if (gate) process.argv.push_back("--gate");
  if (options.before_device && !gate) options.before_device();
  process.stderr_path = oracle.log_path_;
  process.unset_env = {"*_API_KEY"};
  KP_ASSIGN(LineProcess started, LineProcess::start(process));
  oracle.process_ = std::make_unique<LineProcess>(std::move(started));
  if (gate) {
    KP_TRY(oracle.read_answer("its start", options.timeout_s));
    options.before_device();
    KP_TRY(oracle.process_->write_line("{}"));
  }
  KP_ASSIGN(Json ready, oracle.read_answer("its start", options.timeout_s));
  KP_ASSIGN(oracle.task_, task_from_json(ready.value("task", Json::object())));
  return oracle;
}

Result<Draw> Oracle::draw(std::uint64_t seed, Variant variant, bool spill) {
  KP_ASSIGN(Json answer,
            ask({{"op", "draw"}, {"seed", seed}, {"variant", name_of(variant)}, {"spill", spill}}));
  Draw draw;
  KP_ASSIGN(draw.tensors, shared_tensors(answer));
  KP_ASSIGN(draw.variant, parse_variant(string_or(answer, "variant", "own")));
  return draw;
}

Status Oracle::check_fitness() {
  KP_TRY(ask({{"op", "fitness"}}));
  return {};
}

Status Oracle::use_support(const fs::path& cubin) {
  KP_TRY(ask({{"op", "support"}, {"cubin", cubin.string()}}));
  return {};
}

Status Oracle::forget(std::uint64_t seed) {
  KP_TRY(ask({{"op", "forget"}, {"seed", seed}}));
  return {};
}

Status Oracle::close_outputs() {
  KP_TRY(ask({{"op", "close_outputs"}}));
  return {};
}

Result<Comparison> Oracle::compare(std::uint64_t seed, const std::vector<SharedTensor>& outputs,
                                   std::uint64_t memory) {
  Json list = Json::array();
  for (const auto& tensor : outputs) list.push_back(to_json(tensor));
  KP_ASSIGN(Json answer,
            ask({{"op", "compare"}, {"seed", seed}, {"outputs", list}, {"memory", memory}}));
  Comparison comparison;
  KP_ASSIGN(comparison.ok, get_bool(answer, "pass", "oracle's comparison"));
  for (const auto& leaf : answer.value("leaves", Json::array()))
    comparison.leaves.push_back(leaf_error_from_json(leaf));
  comparison.accuracy_class = string_or(answer, "accuracy_class", "");
  return comparison;
}

Result<std::vector<Baseline>> Oracle::time_baselines(std::uint64_t seed, double budget_s) {
  KP_ASSIGN(Json answer, ask({{"op", "baselines"}, {"seed", seed}, {"budget_s", budget_s}}));
  std::vector<Baseline> baselines;
  for (const auto& b : answer.value("baselines", Json::array()))
    baselines.push_back(
        {string_or(b, "name", ""), timing_from_json(b.value("timing", Json::object()))});
  if (baselines.empty()) return fail("the oracle timed no baseline");
  return baselines;
}

Result<std::vector<double>> Oracle::sample_baseline(std::uint64_t seed, const std::string& name,
                                                    int count) {
  KP_ASSIGN(Json answer, ask({{"op", "sample"}, {"seed", seed}, {"name", name}, {"count", count}}));
  std::vector<double> samples;
  for (const auto& ms : answer.value("samples_ms", Json::array()))
    if (ms.is_number()) samples.push_back(ms.get<double>());
  if (static_cast<int>(samples.size()) != count)
    return fail(
        fmt::format("the oracle gave {} samples of {}, not {}", samples.size(), name, count));
  return samples;
}

}  // namespace kp
