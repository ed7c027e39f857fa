#include "base/json.h"

#include <fmt/format.h>

namespace kp {

Result<Json> parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    return fail(fmt::format("{}: not valid JSON: {}", what, e.what()));
  }
}

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

namespace {

Result<const Json*> member(const Json& object, const char* key, std::string_view where) {
  if (!object.is_object()) return fail(fmt::format("{}: expected an object", where));
  auto it = object.find(key);
  if (it == object.end()) return fail(fmt::format("{}: \"{}\" is missing", where, key));
  return &*it;
}

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

}  // namespace

Result<std::string> get_string(const Json& object, const char* key, std::string_view where) {
  KP_ASSIGN(const Json* m, member(object, key, where));
  if (!m->is_string()) return fail(fmt::format("{}: \"{}\" must be a string", where, key));
  return m->get<std::string>();
}

Result<std::int64_t> get_int(const Json& object, const char* key, std::string_view where) {
  KP_ASSIGN(const Json* m, member(object, key, where));
  if (!m->is_number_integer())
    return fail(fmt::format("{}: \"{}\" must be an integer", where, key));
  return m->get<std::int64_t>();
}

Result<double> get_double(const Json& object, const char* key, std::string_view where) {
  KP_ASSIGN(const Json* m, member(object, key, where));
  if (!m->is_number()) return fail(fmt::format("{}: \"{}\" must be a number", where, key));
  return m->get<double>();
}

Result<bool> get_bool(const Json& object, const char* key, std::string_view where) {
  KP_ASSIGN(const Json* m, member(object, key, where));
  if (!m->is_boolean()) return fail(fmt::format("{}: \"{}\" must be true or false", where, key));
  return m->get<bool>();
}

Result<std::vector<std::int64_t>> get_ints(const Json& object, const char* key,
                                           std::string_view where) {
  KP_ASSIGN(const Json* m, member(object, key, where));
  if (!m->is_array()) return fail(fmt::format("{}: \"{}\" must be a list", where, key));
  std::vector<std::int64_t> values;
  for (const auto& v : *m) {
    if (!v.is_number_integer())
      return fail(fmt::format("{}: \"{}\" must hold integers only", where, key));
    values.push_back(v.get<std::int64_t>());
  }
  return values;
}

std::string string_or(const Json& object, const char* key, std::string_view otherwise) {
  const Json* m = find(object, key);
  return m != nullptr && m->is_string() ? m->get<std::string>() : std::string(otherwise);
}

std::int64_t int_or(const Json& object, const char* key, std::int64_t otherwise) {
  const Json* m = find(object, key);
  return m != nullptr && m->is_number_integer() ? m->get<std::int64_t>() : otherwise;
}

double double_or(const Json& object, const char* key, double otherwise) {
  const Json* m = find(object, key);
  return m != nullptr && m->is_number() ? m->get<double>() : otherwise;
}

bool bool_or(const Json& object, const char* key, bool otherwise) {
  const Json* m = find(object, key);
  return m != nullptr && m->is_boolean() ? m->get<bool>() : otherwise;
}

}  // namespace kp
