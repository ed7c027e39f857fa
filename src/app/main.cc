#include <cstdio>

int main() {
  std::puts("kernelpro");
  return 0;
}
