#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "app/commands.h"
#include "base/assets.h"

namespace kp {

int report_error(const Error& error, bool json) {
  fmt::print(stderr, "kernelpro: {}\n", error.text());
  if (json) print_json({{"error", {{"message", error.message}, {"hint", error.hint}}}});
  return kExitError;
}

void print_json(const Json& value) {
  fmt::print("{}\n", dump_json(value, 2));
}

int run(int argc, char** argv) {
  CLI::App app{std::string(asset("help/about.txt"))};
  app.name("kernelpro");
  app.set_version_flag("--version", "kernelpro " KERNELPRO_VERSION);
  app.require_subcommand(1);
  app.footer(std::string(asset("help/footer.txt")));
  int exit_code = kExitOk;
  add_doctor_command(app, exit_code);
  add_evaluate_command(app, exit_code);
  add_profile_command(app, exit_code);
  add_optimize_command(app, exit_code);
  add_tools_command(app, exit_code);
  add_process_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    int rc = app.exit(e);
    return rc == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace kp

int main(int argc, char** argv) {
  try {
    return kp::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "kernelpro: internal error: {}\n", e.what());
    return kp::kExitError;
  }
}
