#include "llm/provider.h"

#include <fmt/format.h>

#include "base/text.h"
#include "llm/providers.h"

namespace kp {

Result<std::unique_ptr<Provider>> make_provider(const ProviderOptions& options) {
  if (!(options.timeout_s > 0))
    return fail(fmt::format("the time limit of a call is {:g} s", options.timeout_s),
                "give a positive number of seconds");
  if (options.kind == "openai") return make_openai(options);
  if (options.kind == "command") return make_command(options);
  if (options.kind == "mailbox") return make_mailbox(options);
  if (options.kind == "replay") return make_replay(options);
  const std::vector<std::string> known = {"openai", "command", "mailbox", "replay"};
  std::string meant = nearest(options.kind, known);
  return fail(
      options.kind.empty() ? std::string("no provider of proposals is named")
                           : fmt::format("no provider is called \"{}\"{}", options.kind,
                                         meant.empty() ? "" : "; is " + meant + " meant?"),
      "known are openai (a chat-completions server), command (a program), mailbox (files in "
      "a folder) and replay (a recorded run)");
}

std::int64_t estimate_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() * 2 + 6) / 7);
}

std::string whole_text(const Prompt& prompt) {
  return prompt.system + "\n\n" + prompt.user;
}

}  // namespace kp
