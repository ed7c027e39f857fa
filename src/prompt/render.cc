#include "prompt/render.h"

#include "base/assets.h"
#include "base/result.h"

namespace kp {

std::string render(std::string_view path, const kainjow::mustache::data& data) {
  kainjow::mustache::mustache page{std::string(asset(path))};
  page.set_custom_escape([](const std::string& text) { return text; });
  KP_CHECK(page.is_valid());
  std::string out = page.render(data);
  KP_CHECK(page.is_valid());
  return out;
}

}  // namespace kp
