// A recorded run as the model: the replies that its journal holds, by call.
//
// Read are lines {"event": "proposal", "call": ID, "reply": {"text", "model", "tokens_in",
// "tokens_out", "seconds"}} of FOLDER/journal.jsonl; of several with one ID the last counts. A torn
// last line is passed over.
#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "llm/providers.h"

namespace kp {
namespace {

std::string id_of(const Json& event) {
  return event["call"].is_number_integer() ? std::to_string(event["call"].get<std::int64_t>())
                                           : string_or(event, "call", "");
}

Reply reply_of(const Json& json) {
  Reply reply;
  reply.text = string_or(json, "text", "");
  reply.model = string_or(json, "model", "replay");
  reply.tokens_in = int_or(json, "tokens_in", 0);
  reply.tokens_out = int_or(json, "tokens_out", 0);
  reply.seconds = double_or(json, "seconds", 0);
  return reply;
}

class Replay final : public Provider {
 public:
  Replay(fs::path journal, std::map<std::string, Reply> replies)
      : journal_(std::move(journal)), replies_(std::move(replies)) {}

  std::string name() const override { return "replay:" + journal_.parent_path().string(); }

  Result<std::optional<Reply>> ask(const Call& call) override {
    auto it = replies_.find(call.id);
    if (it == replies_.end())
      return fail(
          fmt::format("{}: holds no reply to call {} (it has {}{})", journal_.string(), call.id,
                      replies_.size(),
                      replies_.empty() ? "" : ", the last is " + replies_.rbegin()->first),
          "replay with the options of the recorded run, and no more iterations than it had");
    return it->second;
  }

 private:
  fs::path journal_;
  std::map<std::string, Reply> replies_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_replay(const ProviderOptions& options) {
  if (options.folder.empty())
    return fail("provider replay: no folder is given", "name the folder of a recorded run");
  fs::path journal = fs::path(options.folder) / "journal.jsonl";
  auto text = read_file(journal);
  if (!text)
    return fail("provider replay: " + text.error().message,
                "name the folder of a recorded run: the one that holds journal.jsonl");
  std::map<std::string, Reply> replies;
  auto lines = lines_of(*text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    auto event = parse_json(lines[i], fmt::format("{}:{}", journal.string(), i + 1));
    if (!event && i + 1 == lines.size() && text->back() != '\n') break;
    if (!event) return tl::make_unexpected(event.error());
    if (string_or(*event, "event", "") != "proposal" || !event->contains("call")) continue;
    if (!event->contains("reply")) continue;
    Reply reply = reply_of((*event)["reply"]);
    if (!reply.text.empty()) replies[id_of(*event)] = std::move(reply);
  }
  return std::make_unique<Replay>(journal, std::move(replies));
}

}  // namespace kp
