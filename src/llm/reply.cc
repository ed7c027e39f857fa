#include "llm/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "llm/fences.h"

namespace kp {
namespace {

constexpr const char* kFormat =
    "reply with one ```cuda fence that holds the whole file: the plan in a /* plan ... */ comment, "
    "then the kernels";

// Where the plan's JSON stands in a text of code: between "/* plan" and "*/".
struct Span {
  std::size_t comment = 0, from = 0, to = 0;
};

std::optional<Span> find_plan(std::string_view code) {
  std::string low = lower(code);
  for (std::size_t at = low.find("/*"); at != std::string::npos; at = low.find("/*", at + 2)) {
    std::size_t word = low.find_first_not_of("* \t\r\n", at + 1);
    if (word == std::string::npos || low.compare(word, 4, "plan") != 0) continue;
    std::size_t from = word + 4;
    if (from < low.size() && low[from] == ':') ++from;
    std::size_t brace = low.find_first_not_of(" \t\r\n", from);
    if (brace == std::string::npos || low[brace] != '{') continue;  // prose: "plan of attack"
    std::size_t to = low.find("*/", from);
    return Span{at, from, std::min(to, low.size())};
  }
  return std::nullopt;
}

enum class Kind { code, plan, other };

struct Block {
  Kind kind = Kind::other;
  const Fence* fence = nullptr;
  std::optional<Span> plan;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Block classify(const Fence& fence) {
  Block block;
  block.fence = &fence;
  std::string_view text = trim(fence.text);
  bool json = is_one_of(fence.language, {"json", "jsonc", "json5", "plan"}) ||
              (fence.language.empty() && starts_with(text, "{"));
  bool code = is_one_of(fence.language,
                        {"cuda", "cu", "cpp", "c++", "cc", "cxx", "c", "cuda-cpp", "cuda_cpp", ""});
  if (json) {
    if (contains(text, "\"steps\"")) block.kind = Kind::plan;
  } else if (code) {
    block.plan = find_plan(fence.text);
    if (contains(text, "__global__")) {
      block.kind = Kind::code;
    } else if (block.plan) {
      block.kind = Kind::plan;
    }
  }
  return block;
}

Status check_plan_json(std::string_view text, int line) {
  KP_ASSIGN(Json plan,
            parse_json(text, fmt::format("the launch plan (line {} of the reply)", line)));
  if (!plan.is_object() || !plan.contains("steps"))
    return fail(fmt::format("the launch plan (line {} of the reply) has no \"steps\"", line),
                "a plan is an object: {\"steps\": [{\"kernel\": ..., \"grid\": ..., \"block\": "
                "..., \"args\": [...]}]}");
  return {};
}

// Line of the reply at which `offset` of the fence's text stands.
int line_at(const Fence& fence, std::size_t offset) {
  auto end = fence.text.begin() + static_cast<std::ptrdiff_t>(offset);
  return fence.line + 1 + static_cast<int>(std::count(fence.text.begin(), end, '\n'));
}

Result<std::string> whole_file(const Block& block) {
  const Fence& fence = *block.fence;
  Span span = *block.plan;
  if (span.to == fence.text.size())
    return fail(fmt::format("the /* plan comment at line {} of the reply is not closed by */",
                            line_at(fence, span.comment)),
                kFormat);
  std::string json =
      plain_json(std::string_view(fence.text).substr(span.from, span.to - span.from));
  KP_TRY(check_plan_json(json, line_at(fence, span.comment)));
  // As written, but for the plan's comments and commas and the exact opening.
  std::string source = fence.text.substr(0, span.comment) + "/* plan";
  auto word_lines = std::count(fence.text.begin() + static_cast<std::ptrdiff_t>(span.comment),
                               fence.text.begin() + static_cast<std::ptrdiff_t>(span.from), '\n');
  source.append(static_cast<std::size_t>(word_lines), '\n');
  return source + json + fence.text.substr(span.to);
}

Result<std::string> joined(const Block& code, const Block& plan) {
  std::string_view json = plan.fence->text;
  if (plan.plan) json = json.substr(plan.plan->from, plan.plan->to - plan.plan->from);
  std::string text = plain_json(json);
  KP_TRY(check_plan_json(text, plan.fence->line + 1));
  return join_candidate(code.fence->text, trim(text));
}

// The plan that belongs to blocks[i]: after it and before the next code, else before it and after
// the code before it.
const Block* plan_beside(const std::vector<Block>& blocks, std::size_t i) {
  for (std::size_t k = i + 1; k < blocks.size() && blocks[k].kind != Kind::code; ++k) {
    if (blocks[k].kind == Kind::plan) return &blocks[k];
  }
  for (std::size_t k = i; k-- > 0 && blocks[k].kind != Kind::code;) {
    if (blocks[k].kind == Kind::plan) return &blocks[k];
  }
  return nullptr;
}

std::string strip_marks(std::string_view line) {
  std::string out(trim(line));
  out.erase(std::remove(out.begin(), out.end(), '*'), out.end());
  std::size_t from = out.find_first_not_of(" #>-_");
  return from == std::string::npos ? "" : std::string(trim(out.substr(from)));
}

std::string shorten(std::string text) {
  constexpr std::size_t kMost = 300;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string idea_of(const std::vector<std::string>& prose) {
  std::string idea;
  std::string first;
  for (const auto& line : prose) {
    std::string words = strip_marks(line);
    if (starts_with(lower(words), "idea:")) {
      idea = std::string(trim(words.substr(5)));
    } else if (first.empty() && !starts_with(trim(line), "#")) {
      first = words;
    }
  }
  if (!idea.empty()) return shorten(idea);
  std::size_t end = first.find(". ");
  return shorten(end == std::string::npos ? first : first.substr(0, end + 1));
}

tl::unexpected<Error> nothing_found(const std::vector<Block>& blocks) {
  const Fence* code = nullptr;
  const Fence* plan = nullptr;
  for (const auto& block : blocks) {
    if (block.kind == Kind::code) code = block.fence;
    if (block.kind == Kind::plan) plan = block.fence;
  }
  if (code != nullptr)
    return fail(fmt::format("the code at line {} of the reply has no launch plan", code->line),
                "put the plan into a /* plan ... */ comment at the top of the code");
  if (plan != nullptr)
    return fail(fmt::format("the reply has a launch plan (line {}) but no code with a __global__ "
                            "function",
                            plan->line),
                kFormat);
  if (!blocks.empty())
    return fail(
        fmt::format("none of the reply's {} fenced blocks is CUDA code with a __global__ "
                    "function (the last is \"{}\", at line {})",
                    blocks.size(), blocks.back().fence->language, blocks.back().fence->line),
        kFormat);
  return fail("the reply has no fenced code", kFormat);
}

}  // namespace

Result<ProposalText> read_reply(std::string_view reply) {
  if (trim(reply).empty()) return fail("the reply is empty", kFormat);
  KP_ASSIGN(std::string text, without_thoughts(reply));
  Markdown markdown = read_markdown(text);
  if (markdown.open_line != 0)
    return fail(
        fmt::format("the reply was cut: the fence at line {} is never closed", markdown.open_line),
        "write the whole file and close its fence; be brief outside it");
  std::vector<Block> blocks;
  for (const auto& fence : markdown.fences) blocks.push_back(classify(fence));
  ProposalText out;
  out.idea = idea_of(markdown.prose);
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (blocks[i].kind != Kind::code) continue;
    if (blocks[i].plan) {
      KP_ASSIGN(out.source, whole_file(blocks[i]));
      return out;
    }
    if (const Block* plan = plan_beside(blocks, i); plan != nullptr) {
      KP_ASSIGN(out.source, joined(blocks[i], *plan));
      return out;
    }
  }
  return nothing_found(blocks);
}

}  // namespace kp
