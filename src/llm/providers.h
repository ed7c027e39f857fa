#pragma once
// The providers, one file each; make_provider (provider.cc) chooses.
#include <memory>

#include "llm/provider.h"

namespace kp {

// Each checks its own options; the Error names the option that is missing or wrong.
Result<std::unique_ptr<Provider>> make_openai(const ProviderOptions& options);
Result<std::unique_ptr<Provider>> make_command(const ProviderOptions& options);
Result<std::unique_ptr<Provider>> make_mailbox(const ProviderOptions& options);
Result<std::unique_ptr<Provider>> make_replay(const ProviderOptions& options);

// Tokens of a text when nobody counted them: bytes / 3.5, rounded up, as for Prompt.
std::int64_t estimate_tokens(std::string_view text);

// The whole prompt as one text: system, a blank line, user.
std::string whole_text(const Prompt& prompt);

}  // namespace kp
