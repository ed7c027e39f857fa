#pragma once
// Numbers and facts in words, as prompts give them.
#include <string>

#include "prompt/prompt.h"

namespace kp {

std::string bytes_in_words(double bytes);                            // "6.44 GB" (decimal)
std::string flops_in_words(double flops);                            // "1.1 TFLOP"
std::string shape_in_words(const std::vector<std::int64_t>& shape);  // "(4096, 8192)"

std::string precision_in_words(const Task& task);
std::string work_in_words(const Task& task);  // empty when nothing is known
std::string device_in_words(const DeviceInfo& device);
std::string ceilings_in_words(const Ceilings& ceilings);  // empty when nothing was measured
std::string light_in_words(const Roofline& roofline);     // empty when unknown

// What the verdict says in one paragraph: outcome, time, speed-up, accuracy, share of the speed of
// light.
std::string verdict_in_words(const Verdict& verdict, const Roofline* roofline);

// The rest of what is known: diagnostics with the candidate's lines, the failing elements, resource
// use. At most `most` characters; empty for 0.
std::string details_in_words(const Verdict& verdict, std::string_view source, std::size_t most);

// Backticks that `text` can stand between: three, or more than its own longest run.
std::string fence_for(std::string_view text);

}  // namespace kp
