#include "build/compile_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/process.h"
#include "base/text.h"
#include "build/diagnostics.h"
#include "build/nvrtc.h"
#include "build/pch.h"

namespace kp {

namespace {

constexpr int kCannotLoad = 3;                     // exit code: NVRTC is missing or unfit
constexpr rlim_t kMemoryBytes = rlim_t{24} << 30;  // of address space; CuTe takes 3 GiB

Json to_json(const CompileRequest& r) {
  return {{"name", r.name},
          {"source", r.source},
          {"options", r.options},
          {"name_expressions", r.name_expressions},
          {"cubin", r.cubin.string()},
          {"pch_prefix", r.pch_prefix},
          {"pch_stamp", r.pch_stamp},
          {"pch_folder", r.pch_folder.string()}};
}

std::vector<std::string> strings(const Json& object, const char* key) {
  std::vector<std::string> values;
  if (auto it = object.find(key); it != object.end() && it->is_array())
    for (const Json& v : *it)
      if (v.is_string()) values.push_back(v.get<std::string>());
  return values;
}

CompileRequest request_from_json(const Json& json) {
  CompileRequest r;
  r.name = string_or(json, "name", "candidate.cu");
  r.source = string_or(json, "source", "");
  r.options = strings(json, "options");
  r.name_expressions = strings(json, "name_expressions");
  r.cubin = string_or(json, "cubin", "");
  r.pch_prefix = string_or(json, "pch_prefix", "");
  r.pch_stamp = string_or(json, "pch_stamp", "");
  r.pch_folder = string_or(json, "pch_folder", "");
  return r;
}

CompileReply reply_from_json(const Json& json) {
  CompileReply r;
  r.compiled = bool_or(json, "compiled", false);
  r.status = string_or(json, "status", "");
  r.log = string_or(json, "log", "");
  r.precompiled = string_or(json, "precompiled", "");
  r.nvrtc_version = string_or(json, "nvrtc", "");
  if (auto it = json.find("symbols"); it != json.end() && it->is_object())
    for (const auto& [name, symbol] : it->items())
      if (symbol.is_string()) r.symbols[name] = symbol.get<std::string>();
  if (auto it = json.find("ptx_lines"); it != json.end() && it->is_array())
    for (const Json& pair : *it)
      if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
          pair[1].is_number_integer())
        r.ptx_lines[pair[0].get<int>()] = pair[1].get<int>();
  return r;
}

// ptxas names lines of the PTX. The same compilation as far as PTX, which ptxas never sees, tells
// which of the candidate's lines they came from.
Json find_ptx_lines(const Nvrtc& nvrtc, NvrtcInput input, const std::vector<int>& lines) {
  Json found = Json::array();
  for (std::string& option : input.options) option = replace_all(option, "=sm_", "=compute_");
  NvrtcOutput out = nvrtc_compile(nvrtc, input);
  for (int line : lines)
    if (int own = source_line_of_ptx(out.ptx, line, input.name); own > 0)
      found.push_back({line, own});
  return found;
}

// Compiles with the precompiled header where there is one. What NVRTC refuses of it (headers have
// changed, the file is damaged) goes, and the next process makes it anew.
NvrtcOutput compile_with_pch(const Nvrtc& nvrtc, const std::string& layout,
                             const CompileRequest& request, const NvrtcInput& input,
                             std::string& precompiled) {
  if (request.pch_prefix.empty()) return nvrtc_compile(nvrtc, input);
  precompiled = "randomised addresses, or an NVRTC without precompiled headers";
  if (layout.empty()) return nvrtc_compile(nvrtc, input);
  Pch pch = find_or_make_pch(
      nvrtc, layout, {request.pch_folder, request.pch_prefix, request.pch_stamp}, request.options);
  precompiled = pch.file.empty() ? pch.why_not : pch.created ? "created" : "used";
  if (pch.file.empty()) return nvrtc_compile(nvrtc, input);
  NvrtcInput with = input;
  with.options.push_back("--use-pch=" + pch.file.string());
  NvrtcOutput out = nvrtc_compile(nvrtc, with);
  if (strip_pch_messages(out.log)) return out;
  std::error_code ec;
  fs::remove(pch.file, ec);
  precompiled = "NVRTC refused it";
  return out.ok ? out : nvrtc_compile(nvrtc, input);
}

Json compile(const Nvrtc& nvrtc, const std::string& layout, const CompileRequest& request) {
  NvrtcInput input{request.name, request.source, request.options, request.name_expressions};
  std::string precompiled;
  NvrtcOutput out = compile_with_pch(nvrtc, layout, request, input, precompiled);
  if (!out.ok && !contains(out.log, "error")) {
    // NVRTC 13.0 loses some errors of ptxas (too much shared memory) when asked for its report.
    auto& o = input.options;
    o.erase(std::remove(o.begin(), o.end(), "--ptxas-options=-v"), o.end());
    out = nvrtc_compile(nvrtc, input);
  }
  Json reply = {{"compiled", out.ok},
                {"status", out.status},
                {"log", out.log},
                {"symbols", out.symbols},
                {"precompiled", precompiled},
                {"nvrtc", fmt::format("{}.{}", nvrtc.major, nvrtc.minor)}};
  if (out.ok) {
    if (auto written = write_file(request.cubin, out.cubin); !written)
      return {{"error", written.error().message}};
  } else if (auto lines = ptx_error_lines(out.log); !lines.empty()) {
    reply["ptx_lines"] = find_ptx_lines(nvrtc, input, lines);
  }
  return reply;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__)  // which maps terabytes
  rlimit memory{kMemoryBytes, kMemoryBytes};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
}

// This process's command line, from "kernelpro" on.
std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments;
  std::string text = read_file("/proc/self/cmdline").value_or("");
  for (std::string_view argument : split(text, '\0')) arguments.emplace_back(argument);
  if (!arguments.empty()) arguments.pop_back();  // each argument ends in a zero
  return arguments;
}

}  // namespace

int compile_process_main() {
  std::vector<std::string> arguments = own_arguments();
  if (arguments.size() < 3) {
    std::fprintf(stderr, "usage: kernelpro compile NVRTC [pch]\n");
    return 2;
  }
  // Until the heap is set nothing may depend on the request, so that its address does not either.
  const bool fixed = arguments.size() > 3 && drop_address_randomisation(arguments);
  auto nvrtc = load_nvrtc(arguments[2]);
  if (!nvrtc) {
    std::fprintf(stderr, "%s\n", nvrtc.error().message.c_str());
    return kCannotLoad;
  }
  std::string layout = fixed ? prepare_pch_heap(*nvrtc) : "";
  limit_memory();
  std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  auto json = parse_json(text, "compile request");
  if (!json) {
    std::fprintf(stderr, "%s\n", json.error().message.c_str());
    return 2;
  }
  Json reply = compile(*nvrtc, layout, request_from_json(*json));
  std::printf("%s\n", dump_json(reply).c_str());
  std::fflush(stdout);
  ::_exit(0);  // NVRTC frees 900 MB otherwise, for nobody
}

Result<CompileReply> run_compile_process(const CompileRequest& request, double timeout_s) {
  ProcessOptions options;
  options.argv = {own_program().string(), "compile", request.nvrtc};
  if (!request.pch_prefix.empty()) options.argv.emplace_back("pch");
  options.folder = request.folder.string();  // relative includes find nothing
  options.capture_stderr = true;
  KP_ASSIGN(ProcessOutput out, run_process(options, dump_json(to_json(request)), timeout_s));
  CompileReply reply;
  reply.seconds = out.seconds;
  if (out.timed_out) {
    reply.timed_out = true;
    return reply;
  }
  std::string said{trim(out.err)};
  if (out.exit_code == kCannotLoad)
    return fail("NVRTC cannot be used: " + said,
                "install the CUDA toolkit (12.4 or newer) or the nvidia-cuda-nvrtc wheel, or set "
                "CUDA_HOME or KERNELPRO_NVRTC");
  if (out.exit_code != 0) {
    reply.crashed = true;
    reply.status = fmt::format("the compiler crashed ({})", out.how_it_ended());
    reply.log = said;
    return reply;
  }
  KP_ASSIGN(Json json, parse_json(out.out, "the compile process's answer"));
  if (std::string error = string_or(json, "error", ""); !error.empty()) return fail(error);
  CompileReply parsed = reply_from_json(json);
  parsed.seconds = out.seconds;
  return parsed;
}

}  // namespace kp
