// A program as the model: /bin/sh -c COMMAND reads the prompt and prints the reply.
#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "llm/providers.h"

namespace kp {
namespace {

// The last lines of what a program complained about.
std::string tail(std::string_view text) {
  text = trim(text);
  if (text.size() > 2000) text.remove_prefix(text.size() - 2000);
  auto lines = lines_of(text);
  std::string out;
  for (std::size_t i = lines.size() > 15 ? lines.size() - 15 : 0; i < lines.size(); ++i)
    out += fmt::format("\n  {}", lines[i]);
  return out;
}

class Command final : public Provider {
 public:
  explicit Command(const ProviderOptions& options)
      : command_(options.command), timeout_s_(options.timeout_s) {}

  std::string name() const override { return "command:" + command_; }

  Result<std::optional<Reply>> ask(const Call& call) override {
    ProcessOptions process;
    process.argv = {"/bin/sh", "-c", command_};
    process.env["KERNELPRO_CALL"] = call.id;
    process.capture_stderr = true;
    std::string input = whole_text(call.prompt);
    KP_ASSIGN(ProcessOutput output, run_process(process, input, timeout_s_));
    if (output.timed_out)
      return fail(fmt::format("call {}: `{}` printed no whole reply within {:g} s{}", call.id,
                              command_, timeout_s_, tail(output.err)),
                  "raise the time limit of a call, or see why the program hangs");
    if (output.exit_code != 0)
      return fail(fmt::format("call {}: `{}` failed with {}{}", call.id, command_,
                              output.how_it_ended(), tail(output.err)),
                  "run it by hand with a prompt on its standard input");
    if (trim(output.out).empty())
      return fail(
          fmt::format("call {}: `{}` printed nothing{}", call.id, command_, tail(output.err)),
          "it must print the reply on its standard output");
    Reply reply;
    reply.model = name();
    reply.tokens_in = estimate_tokens(input);
    reply.tokens_out = estimate_tokens(output.out);
    reply.seconds = output.seconds;
    reply.text = std::move(output.out);
    return reply;
  }

 private:
  std::string command_;
  double timeout_s_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_command(const ProviderOptions& options) {
  if (trim(options.command).empty())
    return fail("provider command: no command is given",
                "give a shell command that reads the prompt on stdin and prints the reply");
  return std::make_unique<Command>(options);
}

}  // namespace kp
