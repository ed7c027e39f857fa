#include <cstdio>
#include <cstring>

#include "build/compile_process.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "compile") == 0) return kp::compile_process_main(argc, argv);
  std::puts("kernelpro");
  return 0;
}
