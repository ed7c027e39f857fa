#pragma once
// Small text helpers.
#include <string>
#include <string_view>
#include <vector>

namespace kp {

std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> lines_of(std::string_view text);  // without '\n' or '\r'
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
bool contains(std::string_view text, std::string_view part);
std::string replace_all(std::string text, std::string_view from, std::string_view to);
std::string lower(std::string_view text);

// The known word nearest to `word` by edits, when near enough to be a slip; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace kp
