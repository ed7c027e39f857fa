// Fuzzes the readers of telemetry, one reader a run: KERNELPRO_FUZZ names it (run.sh sets it).
// What a reader accepts must hold only finite, non-negative numbers and go through JSON unchanged.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "profile/number.h"
#include "profile/read.h"

namespace {

using namespace kp;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Result<Profile>& profile) {
  if (!profile) {
    require(!profile.error().message.empty());
    return;
  }
  for (const KernelProfile& k : profile->kernels) {
    for (const auto& [metric, measured] : k.metrics)
      require(std::isfinite(measured.value) && measured.value >= 0);
  }
  if (profile->timeline)
    require(profile->timeline->gap_us <= profile->timeline->span_us * 1.000001);
  auto again = profile_from_json(to_json(*profile));
  require(again.has_value());
  require(dump_json(to_json(*again)) == dump_json(to_json(*profile)));
}

void fuzz_number(std::string_view text) {
  for (NumberStyle style : {NumberStyle::point, NumberStyle::comma}) {
    ParsedNumber n = parse_number(text, style);
    require(n.problem != NotANumber::none || (std::isfinite(n.value) && n.value >= 0));
  }
  (void)convert_unit(1, text, "byte", "x");
  (void)convert_unit(1, text, "us", "x");
}

void fuzz_ncu_csv(std::string_view text) {
  check(read_ncu_csv(text, "fuzz"));
}

void fuzz_ncu_text(std::string_view text) {
  (void)is_ncu_text(text);
  check(read_ncu_text(text, "fuzz"));
}

void fuzz_nsys_csv(std::string_view text) {
  (void)is_nsys_csv(text);
  check(read_nsys_csv(text, "fuzz"));
}

void fuzz_nsys_sqlite(std::string_view text) {
  static const TempFolder folder = TempFolder::make("fuzz").value();
  static const fs::path path = folder.path() / "x.sqlite";
  require(write_file(path, text).has_value());
  check(read_nsys_sqlite(path, "fuzz"));
}

void fuzz_ncu_source(std::string_view text) {
  if (auto functions = read_ncu_source(text, "fuzz")) require(!functions->empty());
}

void fuzz_sass(std::string_view text) {
  if (auto functions = parse_sass(text)) require(!functions->empty());
}

void fuzz_profile_json(std::string_view text) {
  auto json = parse_json(text, "fuzz");
  if (!json) return;
  auto profile = profile_from_json(*json);
  if (!profile) return;
  auto again = profile_from_json(to_json(*profile));
  require(again.has_value());
}

using Fuzz = void (*)(std::string_view);

Fuzz chosen() {
  static const std::map<std::string_view, Fuzz> readers = {{"number", fuzz_number},
                                                           {"ncu_csv", fuzz_ncu_csv},
                                                           {"ncu_text", fuzz_ncu_text},
                                                           {"nsys_csv", fuzz_nsys_csv},
                                                           {"nsys_sqlite", fuzz_nsys_sqlite},
                                                           {"ncu_source", fuzz_ncu_source},
                                                           {"sass", fuzz_sass},
                                                           {"profile_json", fuzz_profile_json}};
  const char* name = std::getenv("KERNELPRO_FUZZ");
  auto it = readers.find(name == nullptr ? "" : name);
  require(it != readers.end());
  return it->second;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fuzz fuzz = chosen();
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
