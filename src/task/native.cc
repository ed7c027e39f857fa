#include "task/native.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

// Errors as values: this project catches no exceptions of others outside base/.
#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts that a table header's key starts well before it reports that it does not.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include "base/text.h"
#include "task/check.h"
#include "task/expression.h"

namespace kp {

namespace {

using Keys = std::vector<std::string>;

class Loader {
 public:
  explicit Loader(const fs::path& path) : path_(path) {}

  Result<Task> load(const toml::table& root) {
    KP_TRY(check_keys(
        root, "",
        {"name", "reference", "precision", "sizes", "scalars", "tensors", "tolerance", "work"}));
    task_.kind = TaskKind::native;
    task_.path = path_.string();
    task_.name = path_.stem().string();
    if (root.contains("name")) {
      KP_ASSIGN(task_.name, text(root, "", "name"));
      KP_TRY(identifier(task_.name, root["name"].node(), "name"));
    }
    KP_ASSIGN(fs::path reference, reference_path(root));
    KP_ASSIGN(task_.reference_source, read_file(reference));
    if (root.contains("precision")) {
      KP_ASSIGN(std::string name, text(root, "", "precision"));
      auto precision = parse_precision(name);
      if (!precision)
        return error(root["precision"].node(), "precision", precision.error().message,
                     precision.error().hint);
      task_.precision = *precision;
    }
    KP_TRY(each(root, "sizes", &Loader::add_size));
    KP_TRY(each(root, "scalars", &Loader::add_scalar));
    KP_TRY(each(root, "tensors", &Loader::add_tensor));
    KP_TRY(check_tensors(root));
    add_tensor_sizes(task_);
    KP_TRY(read_tolerance(root));
    KP_TRY(read_work(root));
    return std::move(task_);
  }

  Result<fs::path> reference_path(const toml::table& root) const {
    KP_ASSIGN(std::string name, text(root, "", "reference"));
    fs::path path = path_.parent_path() / name;
    std::error_code ec;
    if (!fs::is_regular_file(path, ec))
      return error(root["reference"].node(), "reference", fmt::format("no file {}", path.string()),
                   "it is looked for in the folder of the task file");
    return path;
  }

 private:
  // "a.toml:12: tensors.x.role"
  std::string place(const toml::node* node, const std::string& key) const {
    bool known = node != nullptr && node->source().begin.line > 0;
    std::string line = known ? fmt::format(":{}", node->source().begin.line) : "";
    return fmt::format("{}{}: {}", path_.string(), line, key);
  }

  tl::unexpected<Error> error(const toml::node* node, const std::string& key,
                              const std::string& what, const std::string& hint = "") const {
    return fail(fmt::format("{}: {}", place(node, key), what), hint);
  }

  static std::string join_key(const std::string& prefix, std::string_view key) {
    return prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key);
  }

  Status check_keys(const toml::table& table, const std::string& prefix, const Keys& known) const {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      std::string near = nearest(key.str(), known);
      return error(
          &node, join_key(prefix, key.str()),
          "unknown key" + (near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)),
          "allowed: " + join(known, ", "));
    }
    return {};
  }

  Status identifier(const std::string& name, const toml::node* node, const std::string& key) const {
    return check_identifier(name, place(node, key));
  }

  Result<std::string> text(const toml::table& table, const std::string& prefix,
                           const char* key) const {
    std::string full = join_key(prefix, key);
    const toml::node* node = table.get(key);
    if (node == nullptr) return error(&table, full, "is missing");
    if (!node->is_string()) return error(node, full, "must be a string");
    return **node->as_string();
  }

  Result<double> number(const toml::node& node, const std::string& key) const {
    auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value) return error(&node, key, "must be a number");
    if (!std::isfinite(*value)) return error(&node, key, "must be finite");
    return *value;
  }

  // A whole number, or an expression over the sizes.
  Result<std::int64_t> whole(const toml::node& node, const std::string& key) const {
    if (node.is_integer()) return **node.as_integer();
    if (!node.is_string())
      return error(&node, key, "must be a whole number or an expression over the sizes");
    auto value = evaluate(**node.as_string(), task_.sizes);
    if (!value) return error(&node, key, value.error().message, value.error().hint);
    return *value;
  }

  // Calls `add` for each entry of the table `name`, in the order of the file.
  Status each(const toml::table& root, const char* name,
              Status (Loader::*add)(const std::string&, const toml::node&)) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return {};
    if (!node->is_table()) return error(node, name, "must be a table");
    std::vector<std::pair<std::string, const toml::node*>> entries;
    for (const auto& [key, value] : *node->as_table())
      entries.emplace_back(std::string(key.str()), &value);
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      const auto& left = a.second->source().begin;
      const auto& right = b.second->source().begin;
      return std::pair(left.line, left.column) < std::pair(right.line, right.column);
    });
    for (const auto& [key, value] : entries) {
      KP_TRY(identifier(key, value, fmt::format("{}.{}", name, key)));
      if (!names_.insert(key).second)
        return error(value, fmt::format("{}.{}", name, key),
                     "a size, scalar or tensor of this name exists already");
      KP_TRY((this->*add)(key, *value));
    }
    return {};
  }

  Status add_size(const std::string& name, const toml::node& node) {
    std::string key = "sizes." + name;
    if (!node.is_integer()) return error(&node, key, "must be a whole number");
    std::int64_t value = **node.as_integer();
    if (value < 0) return error(&node, key, fmt::format("is {}, must not be negative", value));
    task_.sizes[name] = value;
    return {};
  }

  Status add_scalar(const std::string& name, const toml::node& node) {
    KP_ASSIGN(double value, number(node, "scalars." + name));
    task_.scalars.push_back({name, "scalars." + name, node.is_integer(), value});
    return {};
  }

  Status add_tensor(const std::string& name, const toml::node& node) {
    std::string key = "tensors." + name;
    if (!node.is_table()) return error(&node, key, "must be a table");
    const toml::table& table = *node.as_table();
    KP_TRY(check_keys(table, key, {"role", "dtype", "shape", "values"}));
    TensorSpec tensor;
    tensor.name = name;
    tensor.origin = key;
    KP_ASSIGN(std::string role, text(table, key, "role"));
    if (role != "input" && role != "parameter" && role != "output")
      return error(table.get("role"), key + ".role", fmt::format("cannot be \"{}\"", role),
                   "allowed: input, parameter, output");
    tensor.role = role == "input"       ? Role::input
                  : role == "parameter" ? Role::parameter
                                        : Role::output;
    KP_TRY(read_type(table, key, tensor));
    KP_TRY(read_shape(table, key, tensor));
    KP_TRY(read_values(table, key, tensor));
    KP_TRY(check_tensor(tensor, place(&node, key)));
    task_.tensors.push_back(std::move(tensor));
    return {};
  }

  Status read_type(const toml::table& table, const std::string& key, TensorSpec& tensor) const {
    KP_ASSIGN(std::string dtype, text(table, key, "dtype"));
    auto type = parse_dtype(dtype);
    if (!type)
      return error(table.get("dtype"), key + ".dtype", type.error().message, type.error().hint);
    if (*type == DType::c64 || *type == DType::c128 || *type == DType::f8e4m3 ||
        *type == DType::f8e5m2)
      return error(table.get("dtype"), key + ".dtype",
                   fmt::format("native tasks cannot hold {}", dtype),
                   "use f64, f32, f16, bf16, an integer type or b8; or write a PyTorch task");
    tensor.dtype = *type;
    return {};
  }

  Status read_shape(const toml::table& table, const std::string& key, TensorSpec& tensor) const {
    const toml::node* shape = table.get("shape");
    if (shape == nullptr) return error(&table, key + ".shape", "is missing");
    if (!shape->is_array() || shape->as_array()->size() > 16)
      return error(shape, key + ".shape",
                   "must be a list of at most 16 whole numbers and expressions");
    for (const auto& item : *shape->as_array()) {
      KP_ASSIGN(std::int64_t extent, whole(item, key + ".shape"));
      if (extent < 0) return error(&item, key + ".shape", fmt::format("holds {}", extent));
      tensor.shape.push_back(extent);
    }
    tensor.strides = dense_strides(tensor.shape);
    return {};
  }

  Status read_values(const toml::table& table, const std::string& key, TensorSpec& tensor) const {
    const toml::node* values = table.get("values");
    std::string here = key + ".values";
    if (values == nullptr) return {};  // uniform in [0, 1)
    if (tensor.role == Role::output) return error(values, here, "an output has no values");
    constexpr const char* kHint =
        "one of {uniform = [low, high]}, {normal = [mean, sd]}, {constant = value}";
    if (!values->is_table() || values->as_table()->size() != 1)
      return error(values, here, "must name one distribution", kHint);
    auto entry = values->as_table()->begin();
    std::string kind(entry->first.str());
    const toml::node& node = entry->second;
    if (kind == "constant") {
      tensor.values.kind = ValueRange::Kind::constant;
      KP_ASSIGN(tensor.values.low, number(node, here + ".constant"));
      return {};
    }
    if (kind != "uniform" && kind != "normal")
      return error(&node, here, fmt::format("cannot be \"{}\"", kind), kHint);
    here = fmt::format("{}.{}", here, kind);
    if (!node.is_array() || node.as_array()->size() != 2)
      return error(&node, here, "must be a list of two numbers", kHint);
    bool uniform = kind == "uniform";
    tensor.values.kind = uniform ? ValueRange::Kind::uniform : ValueRange::Kind::normal;
    KP_ASSIGN(tensor.values.low, number(*node.as_array()->get(0), here));
    KP_ASSIGN(tensor.values.high, number(*node.as_array()->get(1), here));
    if (uniform && tensor.values.low >= tensor.values.high)
      return error(&node, here, "the first number must be below the second");
    if (!uniform && tensor.values.high < 0)
      return error(&node, here, "a standard deviation must not be negative");
    return {};
  }

  // A task needs something to read, something to write, and one meaning of `real`.
  Status check_tensors(const toml::table& root) const {
    const toml::node* node = root.get("tensors");
    const toml::node* where = node != nullptr ? node : &root;
    bool output = false;
    const TensorSpec* real = nullptr;
    for (const auto& tensor : task_.tensors) {
      output = output || tensor.role == Role::output;
      if (!is_floating(tensor.dtype)) continue;
      if (real != nullptr && real->dtype != tensor.dtype)
        return error(where, "tensors",
                     fmt::format("{} is {} but {} is {}", real->name, name_of(real->dtype),
                                 tensor.name, name_of(tensor.dtype)),
                     "the reference writes `real` for one floating type: give all the same");
      real = &tensor;
    }
    if (!output)
      return error(where, "tensors", "no tensor has role = \"output\"", "a task computes one");
    return {};
  }

  Status read_tolerance(const toml::table& root) {
    const toml::node* node = root.get("tolerance");
    if (node == nullptr) return {};
    if (!node->is_table()) return error(node, "tolerance", "must be a table");
    const toml::table& table = *node->as_table();
    KP_TRY(check_keys(table, "tolerance", {"atol", "rtol"}));
    Tolerance tolerance;
    for (auto [key, value] : {std::pair("atol", &tolerance.atol), {"rtol", &tolerance.rtol}}) {
      const toml::node* member = table.get(key);
      std::string full = join_key("tolerance", key);
      if (member == nullptr) return error(node, full, "is missing");
      KP_ASSIGN(*value, number(*member, full));
      if (*value < 0) return error(member, full, "must not be negative");
    }
    task_.tolerance = tolerance;
    return {};
  }

  Status read_work(const toml::table& root) {
    for (const auto& tensor : task_.tensors)
      task_.work.bytes +=
          static_cast<double>(tensor.elements()) * static_cast<double>(size_of(tensor.dtype));
    const toml::node* node = root.get("work");
    if (node == nullptr) return {};
    if (!node->is_table()) return error(node, "work", "must be a table");
    const toml::table& table = *node->as_table();
    KP_TRY(check_keys(table, "work", {"matmul_flops", "other_flops"}));
    for (auto [key, value] : {std::pair("matmul_flops", &task_.work.matmul_flops),
                              {"other_flops", &task_.work.other_flops}}) {
      const toml::node* member = table.get(key);
      if (member == nullptr) continue;
      KP_ASSIGN(std::int64_t flops, whole(*member, join_key("work", key)));
      if (flops < 0) return error(member, join_key("work", key), "must not be negative");
      *value = static_cast<double>(flops);
    }
    return {};
  }

  fs::path path_;
  Task task_;
  std::set<std::string> names_;
};

// The text in ASCII, each byte where it was: what comments hold besides becomes '?', anything else
// is an Error. toml++ 3.3 is undefined on some characters: is_non_ascii_horizontal_whitespace()
// reaches its TOML_UNREACHABLE for most letters below U+0499.
Result<std::string> only_ascii(std::string text, const fs::path& path) {
  if (starts_with(text, "\xEF\xBB\xBF")) text.erase(0, 3);  // byte order mark
  int line = 1;
  bool comment = false;
  for (char& c : text) {
    if (c == '\n') ++line;
    comment = c == '#' || (comment && c != '\n');
    if (static_cast<unsigned char>(c) < 0x80) continue;
    if (!comment)
      return fail(fmt::format("{}:{}: a character outside ASCII", path.string(), line),
                  "native tasks may hold such characters in comments only");
    c = '?';
  }
  return text;
}

Result<toml::table> parse_file(const fs::path& path) {
  KP_ASSIGN(std::string file, read_file(path));
  KP_ASSIGN(std::string source, only_ascii(std::move(file), path));
  toml::parse_result parsed = toml::parse(source, path.string());
  if (!parsed) {
    const toml::parse_error& e = parsed.error();
    return fail(fmt::format("{}:{}:{}: not valid TOML: {}", path.string(), e.source().begin.line,
                            e.source().begin.column, e.description()));
  }
  return std::move(parsed).table();
}

}  // namespace

Result<Task> load_native_task(const fs::path& toml) {
  KP_ASSIGN(toml::table root, parse_file(toml));
  return Loader(toml).load(root);
}

Result<fs::path> native_reference_path(const Task& task) {
  KP_ASSIGN(toml::table root, parse_file(task.path));
  return Loader(task.path).reference_path(root);
}

}  // namespace kp
