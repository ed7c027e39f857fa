// The tests' own main: the compile process of the builds under test is this program again.
#include <gtest/gtest.h>

#include <string_view>

#include "build/compile_process.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compile") return kp::compile_process_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
