# Everything that kernelpro is built with. All come from Debian 12 packages (see the Makefile); the
# CUDA headers come from an installed toolkit or from the wheels in the project's own venv.
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt 9 REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)  # the GPU host need not have it
find_package(OpenSSL 3 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest 1.12 REQUIRED)

# Static, so that the binary asks for nothing: it needs libc, libm and the loader only.
find_library(KERNELPRO_SQLITE NAMES libsqlite3.a REQUIRED)
find_path(KERNELPRO_SQLITE_INCLUDE NAMES sqlite3.h REQUIRED)

find_path(KERNELPRO_CUDA_INCLUDE
  NAMES cuda.h
  HINTS ENV CUDA_HOME
  PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/.venv/lib/python3.11/site-packages/nvidia/cu13
  PATH_SUFFIXES include
  REQUIRED NO_CMAKE_SYSTEM_PATH)
find_path(KERNELPRO_NVRTC_INCLUDE
  NAMES nvrtc.h
  HINTS ${KERNELPRO_CUDA_INCLUDE}
  PATHS ${PROJECT_SOURCE_DIR}/.venv/lib/python3.11/site-packages/nvidia/cu13/include
  REQUIRED NO_CMAKE_SYSTEM_PATH)

# Headers only: libcuda and libnvrtc are loaded at run time, never linked.
add_library(kernelpro_cuda_headers INTERFACE)
target_include_directories(kernelpro_cuda_headers SYSTEM INTERFACE
  ${KERNELPRO_CUDA_INCLUDE} ${KERNELPRO_NVRTC_INCLUDE})
