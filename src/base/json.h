#pragma once
// JSON in and out. Outside text goes through parse_json and the typed getters, which name the place
// of what is wrong; nlohmann's exceptions never leave this folder.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kp {

using Json = nlohmann::ordered_json;

// `what` names the text in errors ("plan of a.cu").
Result<Json> parse_json(std::string_view text, std::string_view what);

// Text that is UTF-8 whatever the input holds (bad bytes are replaced); indent < 0 gives one line.
std::string dump_json(const Json& value, int indent = -1);

// A member of an object, of the asked type. `where` is the path so far, for errors.
Result<std::string> get_string(const Json& object, const char* key, std::string_view where);
Result<std::int64_t> get_int(const Json& object, const char* key, std::string_view where);
Result<double> get_double(const Json& object, const char* key, std::string_view where);
Result<bool> get_bool(const Json& object, const char* key, std::string_view where);
Result<std::vector<std::int64_t>> get_ints(const Json& object, const char* key,
                                           std::string_view where);

// The same with a default for a missing or null member; a member of another type gives the default.
std::string string_or(const Json& object, const char* key, std::string_view otherwise);
std::int64_t int_or(const Json& object, const char* key, std::int64_t otherwise);
double double_or(const Json& object, const char* key, double otherwise);
bool bool_or(const Json& object, const char* key, bool otherwise);

}  // namespace kp
