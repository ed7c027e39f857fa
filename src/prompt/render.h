#pragma once
// Mustache templates under assets/ without HTML escaping.
#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

namespace kp {

// Fills assets/<path>. A name that is set to no value turns its section off; a template that does
// not parse is a bug of ours. Runs of empty lines outside of fenced blocks become one.
std::string render(std::string_view path, const kainjow::mustache::data& data);

}  // namespace kp
