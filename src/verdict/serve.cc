#include "verdict/serve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace kp {

namespace {

// Where answers go: stdout as it was. A kernel's printf writes to whatever descriptor 1 is, so that
// becomes stderr before any kernel runs.
class Channel {
 public:
  Channel() : out_(::fdopen(::fcntl(1, F_DUPFD_CLOEXEC, 3), "w")) { ::dup2(2, 1); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    if (out_ != nullptr) std::fclose(out_);
  }

  void say(const Json& answer) {
    if (out_ == nullptr) return;
    std::string line = dump_json(answer);
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), out_);
    std::fflush(out_);
  }

 private:
  std::FILE* out_;
};

}  // namespace

int serve(const Json& ready, const std::function<Json(const Json&, bool&)>& handle) {
  Channel channel;
  channel.say(ready);
  if (!bool_or(ready, "ok", false)) return 1;
  std::string line;
  while (std::getline(std::cin, line)) {
    auto request = parse_json(line, "request");
    if (!request) {
      channel.say(error_answer("environment", request.error()));
      continue;
    }
    if (string_or(*request, "op", "") == "quit") {
      channel.say(ok_answer());
      return 0;
    }
    bool last = false;
    channel.say(handle(*request, last));
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
