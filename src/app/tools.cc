// kernelpro tools, kernelpro tools show NAME
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "base/assets.h"
#include "base/text.h"
#include "findings/tool.h"

namespace kp {

namespace {

std::string classes_of(const Tool& tool) {
  if (tool.classes.size() == 3) return "all";
  std::vector<std::string> names;
  for (BoundClass bound : tool.classes) names.emplace_back(name_of(bound));
  return join(names, ", ");
}

Json to_json(const Tool& tool) {
  Json classes = Json::array();
  for (BoundClass bound : tool.classes) classes.push_back(name_of(bound));
  Json needs = Json::array();
  for (Metric metric : tool.needs) needs.push_back(info_of(metric).name);
  Json reads = Json::array();
  for (Metric metric : tool.also_reads) reads.push_back(info_of(metric).name);
  return {{"name", tool.name},
          {"says", tool.says},
          {"classes", classes},
          {"needs", needs},
          {"needs_sass", tool.needs_sass},
          {"also_reads", reads}};
}

int list_tools(bool json) {
  if (json) {
    Json all = Json::array();
    for (const Tool& tool : all_tools()) all.push_back(to_json(tool));
    print_json({{"tools", all}});
    return kExitOk;
  }
  for (const Tool& tool : all_tools())
    fmt::print("{:<22}{:<18}{}\n", tool.name, classes_of(tool), tool.says);
  return kExitOk;
}

int show_tool(const std::string& name, bool json) {
  const auto& tools = all_tools();
  auto it =
      std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  if (it == tools.end()) {
    std::vector<std::string> names;
    for (const Tool& tool : tools) names.emplace_back(tool.name);
    return report_error({fmt::format("no tool is named {}", name), "one of " + join(names, ", ")},
                        json);
  }
  std::string_view page = asset(fmt::format("tools/{}.md", name));
  if (json) {
    Json tool = to_json(*it);
    tool["page"] = page;
    print_json(tool);
  } else {
    fmt::print("{}", page);
  }
  return kExitOk;
}

struct ToolsCommand {
  std::string name;
  bool json = false;
};

}  // namespace

void add_tools_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<ToolsCommand>();
  CLI::App* sub = app.add_subcommand(
      "tools", "List the tools that read a profile; `tools show NAME` prints one's page");
  sub->add_flag("--json", command->json, "as JSON on stdout");
  CLI::App* show = sub->add_subcommand(
      "show", "What a tool says, its thresholds and their sources, when it stays silent");
  show->add_option("NAME", command->name, "a tool's name")->required();
  show->add_flag("--json", command->json, "as JSON on stdout");
  show->callback([command, &exit_code] { exit_code = show_tool(command->name, command->json); });
  sub->callback([command, show, &exit_code] {
    if (!show->parsed()) exit_code = list_tools(command->json);
  });
}

}  // namespace kp
