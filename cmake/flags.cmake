add_library(kernelpro_flags INTERFACE)
target_compile_options(kernelpro_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Werror)
target_compile_definitions(kernelpro_flags INTERFACE FMT_HEADER_ONLY=1 TOML_HEADER_ONLY=1)
if(KERNELPRO_ASAN)
  target_compile_options(kernelpro_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)
  target_link_options(kernelpro_flags INTERFACE -fsanitize=address,undefined)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # g++ 12 sees overlaps in std::string operator+ that are not there (GCC bug 105651).
  target_compile_options(kernelpro_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
