#pragma once
// Providers of proposals: a prompt in, text out. Reading code out of the text is reply.h.
#include <memory>
#include <optional>
#include <string>

#include "prompt/prompt.h"

namespace kp {

struct Reply {
  std::string text;  // complete; a cut or partial reply is an Error
  std::string model;
  std::int64_t tokens_in = 0;  // as the provider counted; estimated when it does not say
  std::int64_t tokens_out = 0;
  double seconds = 0;
};

struct Call {
  std::string id;  // unique in the run ("0007"): names the mailbox files, keys the replay
  Prompt prompt;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string name() const = 0;  // "openai:gpt-5", "mailbox:box"
  // False when people or a queue answer (mailbox): time in ask() then counts against no budget.
  virtual bool time_counts() const { return true; }
  // Blocks until the reply is whole. nullopt: not there yet, and the provider was told not to wait
  // (mailbox with --no-wait): ask again in a later run. Error: says what to do.
  virtual Result<std::optional<Reply>> ask(const Call& call) = 0;
};

struct ProviderOptions {
  std::string kind;                            // openai | command | mailbox | replay
  std::string model;                           // openai
  std::string base_url;                        // openai: https://api.openai.com/v1 when empty
  std::string api_key_env = "OPENAI_API_KEY";  // name of the variable; never the key itself
  std::string command;     // command: run by /bin/sh -c, prompt on stdin, reply on stdout
  std::string folder;      // mailbox; replay: a run's folder
  bool wait = true;        // mailbox
  double timeout_s = 600;  // of one call
  int max_output_tokens = 16000;
};

Result<std::unique_ptr<Provider>> make_provider(const ProviderOptions& options);

}  // namespace kp
