#include "verdict/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "verdict/support.h"

namespace kp {

namespace {

constexpr double kStartTimeout = 60;  // a context on a busy host

RunnerAnswer::Kind kind_named(std::string_view kind) {
  if (kind == "plan_error") return RunnerAnswer::Kind::plan_error;
  if (kind == "crashed") return RunnerAnswer::Kind::crashed;
  return RunnerAnswer::Kind::out_of_memory;
}

}  // namespace

Status Runner::ensure_started() {
  if (alive()) return {};
  ++memory_;
  if (process_) ++restarts_;
  process_.reset();
  ProcessOptions options;
  options.argv = {own_program().string(), "worker", "--device", std::to_string(options_.device)};
  options.stderr_path = options_.log_path;
  options.unset_env = {"*_API_KEY"};
  KP_ASSIGN(LineProcess process, LineProcess::start(options));
  process_ = std::make_unique<LineProcess>(std::move(process));
  std::string line;
  if (process_->read_line(line, kStartTimeout) != LineProcess::Read::line) {
    std::string how = process_->how_it_ended();
    process_.reset();
    return fail("the runner did not start: " + how, "kernelpro doctor checks the GPU");
  }
  KP_ASSIGN(Json ready, parse_json(line, "runner"));
  if (!bool_or(ready, "ok", false)) {
    process_.reset();
    const Json error = ready.value("error", Json::object());
    return fail(string_or(error, "message", "the runner did not start"),
                string_or(error, "hint", ""));
  }
  KP_ASSIGN(device_, device_info_from_json(ready.value("device", Json::object())));
  KP_ASSIGN(fs::path support, build_support(device_.arch()));
  KP_ASSIGN(RunnerAnswer answer, exchange({{"op", "support"}, {"cubin", support.string()}}, 30));
  if (answer.kind != RunnerAnswer::Kind::ok) return fail("runner: " + answer.reason);
  return {};
}

Result<RunnerAnswer> Runner::ask(const Json& request, double timeout_s) {
  KP_TRY(ensure_started());
  return exchange(request, timeout_s);
}

Result<RunnerAnswer> Runner::exchange(const Json& request, double timeout_s) {
  RunnerAnswer answer;
  std::string line;
  if (!process_->write_line(dump_json(request))) {
    answer.kind = RunnerAnswer::Kind::crashed;
    answer.reason = "the runner had gone: " + process_->how_it_ended();
    answer.died = true;
    stop();
    return answer;
  }
  switch (process_->read_line(line, timeout_s)) {
    case LineProcess::Read::timed_out:
      answer.kind = RunnerAnswer::Kind::timed_out;
      answer.reason = fmt::format("no answer in {:.1f} s: killed", timeout_s);
      stop();
      return answer;
    case LineProcess::Read::closed:
      answer.kind = RunnerAnswer::Kind::crashed;
      answer.reason = "the runner died: " + process_->how_it_ended();
      answer.died = true;
      stop();
      return answer;
    case LineProcess::Read::line:
      break;
  }
  KP_ASSIGN(answer.body, parse_json(line, "runner"));
  if (bool_or(answer.body, "ok", false)) return answer;
  const Json error = answer.body.value("error", Json::object());
  std::string kind = string_or(answer.body, "kind", "environment");
  if (kind == "environment")
    return fail("runner: " + string_or(error, "message", "unknown"), string_or(error, "hint", ""));
  answer.kind = kind_named(kind);
  answer.reason = string_or(error, "message", "");
  if (answer.kind == RunnerAnswer::Kind::crashed) stop();
  return answer;
}

void Runner::stop() {
  if (process_) process_->kill();
}

Result<DeviceInfo> Runner::device() {
  KP_TRY(ensure_started());
  return device_;
}

Result<RunnerAnswer> Runner::set_inputs(const Draw& draw, double timeout_s) {
  Json tensors = Json::array();
  for (const auto& t : draw.tensors) tensors.push_back(to_json(t));
  return ask({{"op", "inputs"}, {"tensors", tensors}}, timeout_s);
}

Json load_request(const Task& task, const Build& build, const ResolvedPlan& plan) {
  Json outputs = Json::array();
  for (const auto& t : task.tensors)
    if (t.role == Role::output) outputs.push_back({{"name", t.name}, {"bytes", t.storage_bytes()}});
  std::uint32_t local_bytes = 0;
  for (const auto& k : build.kernels) local_bytes = std::max(local_bytes, k.stack_bytes);
  return {{"op", "load"},
          {"cubin", build.cubin.string()},
          {"plan", to_json(plan)},
          {"outputs", outputs},
          {"local_bytes", local_bytes}};
}

Result<RunnerAnswer> Runner::load(const Task& task, const Build& build, const ResolvedPlan& plan,
                                  double timeout_s) {
  return ask(load_request(task, build, plan), timeout_s);
}

Result<RunnerAnswer> Runner::run(bool fresh, int times, double timeout_s) {
  return ask({{"op", "run"}, {"fresh", fresh}, {"times", times}}, timeout_s);
}

Result<RunnerAnswer> Runner::time(std::string_view mode, std::string_view sample, int count,
                                  double timeout_s) {
  return ask({{"op", "time"}, {"mode", mode}, {"sample", sample}, {"count", count}}, timeout_s);
}

Result<RunnerAnswer> Runner::energy(std::string_view mode, double call_ms, double timeout_s) {
  return ask({{"op", "energy"}, {"mode", mode}, {"call_ms", call_ms}}, timeout_s);
}

Status Runner::release() {
  if (!alive()) return {};
  ++memory_;
  KP_ASSIGN(RunnerAnswer answer, exchange({{"op", "release"}}, 30));
  if (answer.kind != RunnerAnswer::Kind::ok) stop();
  return {};
}

Result<Ceilings> Runner::measure_ceilings(double timeout_s) {
  KP_ASSIGN(RunnerAnswer answer, ask({{"op", "ceilings"}}, timeout_s));
  if (answer.kind != RunnerAnswer::Kind::ok)
    return fail("the device's ceilings could not be measured: " + answer.reason);
  return ceilings_from_json(answer.body.value("ceilings", Json::object()));
}

}  // namespace kp
