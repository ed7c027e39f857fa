#include "verdict/serve.h"

#include <cstdio>
#include <iostream>

namespace kp {

namespace {

void print(const Json& answer) {
  std::string line = dump_json(answer);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

int serve(const Json& ready, const std::function<Json(const Json&, bool&)>& handle) {
  print(ready);
  if (!bool_or(ready, "ok", false)) return 1;
  std::string line;
  while (std::getline(std::cin, line)) {
    auto request = parse_json(line, "request");
    if (!request) {
      print(error_answer("environment", request.error()));
      continue;
    }
    if (string_or(*request, "op", "") == "quit") {
      print(ok_answer());
      return 0;
    }
    bool last = false;
    print(handle(*request, last));
    if (last) return 0;
  }
  return 0;
}

Json ok_answer() {
  return {{"ok", true}};
}

Json error_answer(std::string_view kind, const Error& error) {
  return {
      {"ok", false}, {"kind", kind}, {"error", {{"message", error.message}, {"hint", error.hint}}}};
}

Json error_answer(const DeviceFault& fault) {
  const char* kind = "environment";
  switch (fault.kind) {
    case DeviceFault::Kind::plan:
      kind = "plan_error";
      break;
    case DeviceFault::Kind::crash:
      kind = "crashed";
      break;
    case DeviceFault::Kind::out_of_memory:
      kind = "out_of_memory";
      break;
    case DeviceFault::Kind::environment:
      break;
  }
  return error_answer(kind, Error{fault.message, ""});
}

}  // namespace kp
