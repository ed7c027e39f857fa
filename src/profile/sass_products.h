#pragma once
// Does a function multiply what it loads? Matrix products on the ordinary pipes, seen in SASS.
#include "profile/sass.h"

namespace kp {

// Warp-level FFMA instructions in loops whose two factors both come from loads in a loop, by
// executions; 0 when these are not known, or when they are less than half of the loops' FFMA.
double executed_products(const SassSummary& function);

}  // namespace kp
