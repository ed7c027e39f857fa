#pragma once
// How ncu writes the launch that a table is about.
#include <optional>
#include <string_view>

#include "profile/profile.h"

namespace kp {

// "(256, 1, 1)"; zeros when it is anything else.
Dim3 parse_dim3(std::string_view text);

// The kernel of "  f(int) (2, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0", or, from
// older versions, "  f(int), 2021-Mar-05 10:11:12, Context 1, Stream 7"; nullopt for any other
// line.
std::optional<KernelProfile> ncu_launch_of(std::string_view line);

}  // namespace kp
