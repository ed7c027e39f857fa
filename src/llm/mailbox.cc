// A folder as the model: N.prompt.md appears, N.reply.md is picked up. For batch APIs, agents and
// people.
//
// A reply is taken once its size and time stayed the same over two looks; a file that is renamed
// into place is whole at once. An empty file is a reply that somebody is still making, unless
// nobody waits.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "llm/providers.h"
#include "prompt/render.h"

namespace kp {
namespace {

constexpr double kPoll_s = 0.2;

struct Look {
  std::uintmax_t bytes = 0;
  fs::file_time_type time;
  bool operator==(const Look&) const = default;
};

std::optional<Look> look_at(const fs::path& file) {
  std::error_code ec;
  Look look;
  look.bytes = fs::file_size(file, ec);
  if (ec) return std::nullopt;
  look.time = fs::last_write_time(file, ec);
  if (ec) return std::nullopt;
  return look;
}

std::string prompt_file(const Call& call, const fs::path& reply) {
  kainjow::mustache::data data;
  data.set("call", call.id);
  data.set("reply", reply.filename().string());
  data.set("temperature", fmt::format("{:g}", call.prompt.temperature));
  data.set("system", std::string(trim(call.prompt.system)));
  data.set("user", std::string(trim(call.prompt.user)));
  return render("prompts/mailbox.md", data);
}

class Mailbox final : public Provider {
 public:
  explicit Mailbox(const ProviderOptions& options)
      : folder_(options.folder), wait_(options.wait), timeout_s_(options.timeout_s) {}

  std::string name() const override { return "mailbox:" + folder_.string(); }
  bool time_counts() const override { return false; }

  Result<std::optional<Reply>> ask(const Call& call) override {
    auto plain = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    };
    KP_CHECK(!call.id.empty() && std::all_of(call.id.begin(), call.id.end(), plain));
    Stopwatch watch;
    fs::path prompt = folder_ / (call.id + ".prompt.md");
    fs::path reply = folder_ / (call.id + ".reply.md");
    KP_TRY(post(call, prompt, reply));
    std::optional<Look> before;
    while (true) {
      std::optional<Look> now = look_at(reply);
      if (!wait_ && !now) return std::optional<Reply>{};
      bool stable = now && before && *now == *before;
      if (stable && (now->bytes > 0 || !wait_)) return read(call, reply, watch.seconds());
      if (watch.seconds() > timeout_s_) return too_late(reply, now.has_value());
      before = now;
      ::usleep(static_cast<useconds_t>(std::min(kPoll_s, timeout_s_) * 1e6));
    }
  }

 private:
  // A reply that lies there already answers the prompt that lies beside it; when that is another
  // one than ours, the folder belongs to another run.
  Status post(const Call& call, const fs::path& prompt, const fs::path& reply) {
    std::string text = prompt_file(call, reply);
    std::error_code ec;
    if (fs::exists(prompt, ec)) {
      KP_ASSIGN(std::string old, read_file(prompt));
      if (old == text) return {};
      if (fs::exists(reply, ec))
        return fail(fmt::format("{} answers another prompt than that of this call", reply.string()),
                    fmt::format("use a fresh folder for each run; or, to take the reply all the "
                                "same, remove {}",
                                prompt.string()));
    }
    return write_file(prompt, text);
  }

  Result<std::optional<Reply>> read(const Call& call, const fs::path& file, double seconds) {
    Reply reply;
    KP_ASSIGN(reply.text, read_file(file));
    if (trim(reply.text).empty())
      return fail(fmt::format("{}: is empty", file.string()),
                  "write the reply to it and continue with --resume; or remove it");
    reply.model = "mailbox";
    reply.tokens_in = estimate_tokens(whole_text(call.prompt));
    reply.tokens_out = estimate_tokens(reply.text);
    reply.seconds = seconds;
    return reply;
  }

  tl::unexpected<Error> too_late(const fs::path& reply, bool exists) const {
    return fail(fmt::format("{}: {} after {:g} s", reply.string(),
                            exists ? "is empty or still growing" : "is not there", timeout_s_),
                "write the reply and continue with --resume; --no-wait stops at once instead");
  }

  fs::path folder_;
  bool wait_;
  double timeout_s_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_mailbox(const ProviderOptions& options) {
  if (options.folder.empty())
    return fail("provider mailbox: no folder is given",
                "name a folder; prompts appear in it as N.prompt.md, replies go to N.reply.md");
  if (Status made = make_folder(options.folder); !made)
    return fail("provider mailbox: " + made.error().message);
  return std::make_unique<Mailbox>(options);
}

}  // namespace kp
