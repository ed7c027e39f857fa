#include "prompt/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/assets.h"
#include "base/text.h"
#include "prompt/render.h"
#include "prompt/words.h"

namespace kp {
namespace {

namespace mustache = kainjow::mustache;

constexpr std::size_t kDetails = 6000;       // characters of the verdict's details, unhurried
constexpr std::size_t kShortDetails = 1200;  // when the budget is tight

int tokens_of(std::size_t characters) {
  return static_cast<int>((characters * 2 + 6) / 7);
}

// How much of the parts that may be cut is shown.
struct Shown {
  std::size_t attempts = 0;    // newest
  std::size_t directives = 0;  // highest rank; the one to follow is always among them
  std::size_t details = kDetails;
};

void set_if(mustache::data& data, const char* name, const std::string& value) {
  if (!value.empty()) data.set(name, value);
}

std::string parameter_of(const TensorSpec& t) {
  return fmt::format("{}{}* {}", t.role == Role::output ? "" : "const ", cuda_name(t.dtype),
                     t.name);
}

const char* role_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::parameter:
      return "parameter";
    case Role::output:
      return "output";
  }
  KP_CHECK(!"every role has a name");
}

mustache::data tensors_of(const Task& task) {
  mustache::data rows{mustache::data::type::list};
  for (const auto& t : task.tensors) {
    mustache::data row;
    row.set("name", t.name);
    row.set("role", role_of(t.role));
    row.set("dtype", std::string(name_of(t.dtype)));
    std::string shape = shape_in_words(t.shape);
    if (!t.contiguous()) shape += ", strides " + shape_in_words(t.strides);
    row.set("shape", shape);
    row.set("parameter", parameter_of(t));
    row.set("origin", t.origin.empty() ? std::string("-") : t.origin);
    rows.push_back(row);
  }
  return rows;
}

mustache::data scalars_of(const Task& task) {
  mustache::data rows{mustache::data::type::list};
  for (const auto& s : task.scalars) {
    mustache::data row;
    row.set("name", s.name);
    row.set("value", fmt::format("{:.17g}", s.value));
    row.set("pass", (s.is_integer ? "i32:" : "f32:") + s.name);
    row.set("origin", s.origin.empty() || s.origin == s.name ? std::string()
                                                             : fmt::format(" ({})", s.origin));
    rows.push_back(row);
  }
  return rows;
}

// The task's own sizes, and those of its tensors by one example: the table has them all.
std::string sizes_of(const Task& task) {
  std::vector<std::string> own;
  for (const auto& [name, value] : task.sizes) {
    bool derived = false;
    for (const auto& t : task.tensors)
      derived = derived || name == t.name + "_numel" ||
                (starts_with(name, t.name + "_d") &&
                 std::all_of(name.begin() + static_cast<std::ptrdiff_t>(t.name.size() + 2),
                             name.end(), [](char c) { return c >= '0' && c <= '9'; }));
    if (!derived) own.push_back(fmt::format("`{}` = {}", name, value));
  }
  if (!task.tensors.empty()) {
    const TensorSpec& t = task.tensors.front();
    std::string example;
    for (std::size_t i = 0; i < t.shape.size(); ++i)
      example += fmt::format("`{}_d{}` = {}, ", t.name, i, t.shape[i]);
    own.push_back(
        fmt::format("those of every tensor ({}`{}_numel` = {})", example, t.name, t.elements()));
  }
  return join(own, ", ");
}

void add_task(mustache::data& data, const Task& task) {
  bool native = task.kind == TaskKind::native;
  data.set("task", task.name);
  data.set("task_words",
           native ? "This kernel with its launch plan is the reference: compute the same, faster. "
                    "(`real` is the tensors' floating type; write the type itself.)"
                  : "This PyTorch module is the reference. Compute what `Model.forward` returns "
                    "for the inputs of `get_inputs`, with the parameters that the module has.");
  std::string reference(trim(task.reference_source));
  data.set("reference", reference);
  data.set("fence", fence_for(reference));
  data.set("language", native ? "cuda" : "python");
  data.set("tensors", tensors_of(task));
  bool dense = std::all_of(task.tensors.begin(), task.tensors.end(),
                           [](const TensorSpec& t) { return t.contiguous(); });
  data.set("layout_words",
           dense ? "All are contiguous in row-major order (the last extent varies fastest)."
                 : "Contiguous in row-major order (the last extent varies fastest) where no "
                   "strides are given; strides are in elements, and outputs have to be written "
                   "with theirs.");
  data.set("has_scalars", !task.scalars.empty());
  data.set("scalars", scalars_of(task));
  data.set("sizes", sizes_of(task));
  data.set("has_notes", !task.notes.empty());
  mustache::data notes{mustache::data::type::list};
  for (const auto& note : task.notes) notes.push_back(mustache::data("note", note));
  data.set("notes", notes);
  data.set("precision_words", precision_in_words(task));
  set_if(data, "work_words", work_in_words(task));
}

void add_parent(mustache::data& data, const PromptInput& input, const Shown& shown) {
  data.set("has_parent", true);
  data.set("act", std::string(name_of(input.act)));
  data.set("id", input.parent->id);
  data.set("verdict_words", verdict_in_words(*input.verdict, input.roofline));
  std::string details = details_in_words(*input.verdict, input.parent->source, shown.details);
  if (!details.empty()) {
    data.set("details", details);
    data.set("details_fence", fence_for(details));
  }
  std::string source(trim(input.parent->source));
  data.set("source", source);
  data.set("source_fence", fence_for(source));
}

void add_directives(mustache::data& data, const PromptInput& input, std::size_t count) {
  mustache::data rows{mustache::data::type::list};
  std::size_t follow = static_cast<std::size_t>(std::max(0, input.follow));
  if (follow >= input.directives.size()) follow = 0;
  for (std::size_t i = 0; i < input.directives.size(); ++i) {
    if (i >= count && i != follow) continue;
    const Directive& d = input.directives[i];
    mustache::data row;
    row.set("number", std::to_string(i + 1));
    row.set("title", std::string(trim(d.title)));
    row.set("first", i == follow);
    row.set("text", std::string(trim(d.text)));
    rows.push_back(row);
  }
  data.set("directives", rows);
  data.set("has_directives", !input.directives.empty());
  data.set("follow", std::to_string(follow + 1));
}

void add_attempts(mustache::data& data, const std::vector<Attempt>& attempts, std::size_t newest) {
  mustache::data rows{mustache::data::type::list};
  std::size_t left_out = attempts.size() - newest;
  for (std::size_t i = left_out; i < attempts.size(); ++i) {
    mustache::data row;
    row.set("candidate", attempts[i].candidate);
    row.set("idea", attempts[i].idea.empty() ? std::string("(no idea was given)")
                                             : std::string(trim(attempts[i].idea)));
    row.set("result", std::string(trim(attempts[i].result)));
    rows.push_back(row);
  }
  data.set("attempts", rows);
  data.set("has_attempts", newest > 0);
  if (left_out > 0) data.set("older", std::to_string(left_out));
}

std::string user_text(const PromptInput& input, const Shown& shown) {
  mustache::data data;
  add_task(data, *input.task);
  if (input.device != nullptr) data.set("device_words", device_in_words(*input.device));
  if (input.ceilings != nullptr) set_if(data, "ceilings_words", ceilings_in_words(*input.ceilings));
  if (input.roofline != nullptr) set_if(data, "light_words", light_in_words(*input.roofline));
  if (input.act != Act::seed) add_parent(data, input, shown);
  if (input.act == Act::improve) add_directives(data, input, shown.directives);
  add_attempts(data, input.attempts, shown.attempts);
  data.set("is_" + std::string(name_of(input.act)), true);
  set_if(data, "variation", std::string(trim(input.variation)));
  return render("prompts/user.md", data);
}

std::string system_text(bool cutlass) {
  mustache::data data;
  data.set("cutlass", cutlass);
  data.set("example", std::string(trim(asset("prompts/example.cu"))));
  data.set("cutlass_example", std::string(trim(asset("prompts/cutlass_example.cu"))));
  return render("prompts/system.md", data);
}

// Takes one more thing away; false when nothing is left to take.
bool cut_one(const PromptInput& input, Shown& shown) {
  std::size_t follow = static_cast<std::size_t>(std::max(0, input.follow));
  if (shown.attempts > 0) {
    --shown.attempts;
  } else if (input.act == Act::improve && shown.directives > (follow == 0 ? 1U : 0U)) {
    --shown.directives;
  } else if (input.act != Act::seed && shown.details > 0) {
    shown.details = shown.details > kShortDetails ? kShortDetails : 0;
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> cuts_in_words(const PromptInput& input, const Shown& shown) {
  std::vector<std::string> cut;
  if (std::size_t n = input.attempts.size() - shown.attempts; n > 0)
    cut.push_back(fmt::format("the {} oldest of {} attempts", n, input.attempts.size()));
  if (input.act == Act::improve) {
    for (std::size_t i = shown.directives; i < input.directives.size(); ++i) {
      if (static_cast<int>(i) != input.follow)
        cut.push_back(fmt::format("directive {} ({})", i + 1, input.directives[i].title));
    }
  }
  if (input.act == Act::seed) return cut;
  std::string all = details_in_words(*input.verdict, input.parent->source, kDetails);
  if (all.size() <= shown.details) return cut;
  cut.push_back(shown.details == 0
                    ? std::string("the details of the verdict")
                    : fmt::format("details of the verdict beyond {} characters", shown.details));
  return cut;
}

}  // namespace

std::string_view name_of(Act act) {
  switch (act) {
    case Act::seed:
      return "seed";
    case Act::improve:
      return "improve";
    case Act::repair:
      return "repair";
  }
  KP_CHECK(!"every act has a name");
}

Prompt make_prompt(const PromptInput& input, int token_budget) {
  KP_CHECK(input.task != nullptr);
  KP_CHECK(input.act == Act::seed || (input.parent != nullptr && input.verdict != nullptr));
  Prompt prompt;
  prompt.act = input.act;
  prompt.temperature = input.temperature;
  prompt.system = system_text(input.cutlass);
  Shown shown{input.attempts.size(), input.directives.size(), kDetails};
  do {
    prompt.user = user_text(input, shown);
    prompt.estimated_tokens = tokens_of(prompt.system.size() + prompt.user.size());
  } while (token_budget > 0 && prompt.estimated_tokens > token_budget && cut_one(input, shown));
  prompt.cut = cuts_in_words(input, shown);
  if (token_budget > 0 && prompt.estimated_tokens > token_budget)
    prompt.cut.push_back(
        fmt::format("nothing more can be cut: about {} tokens are over the budget of {} (the task, "
                    "the contract and the parent's source stay whole)",
                    prompt.estimated_tokens - token_budget, token_budget));
  return prompt;
}

std::vector<std::string> seed_variations() {
  std::vector<std::string> variations;
  std::string paragraph;
  auto end_paragraph = [&] {
    if (!paragraph.empty() && !starts_with(paragraph, "#")) variations.push_back(paragraph);
    paragraph.clear();
  };
  for (std::string_view line : lines_of(asset("prompts/variations.md"))) {
    line = trim(line);
    if (line.empty()) {
      end_paragraph();
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  end_paragraph();
  return variations;
}

Json to_json(const Prompt& prompt) {
  return {{"act", name_of(prompt.act)},
          {"system", prompt.system},
          {"user", prompt.user},
          {"temperature", prompt.temperature},
          {"estimated_tokens", prompt.estimated_tokens},
          {"cut", prompt.cut}};
}

}  // namespace kp
