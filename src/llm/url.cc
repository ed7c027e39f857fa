// URLs and the choice of a proxy; the request itself is in http.cc.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.h"
#include "llm/http.h"

namespace kp {
namespace {

std::string environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "localhost" || ends_with(host, ".localhost") || host == "::1";
}

// NO_PROXY: "*", or names separated by commas; each covers itself and what lies under it, and may
// carry a port.
bool without_proxy(const Url& url) {
  std::string list = lower(environment({"NO_PROXY", "no_proxy"}));
  for (std::string_view entry : split(list, ',')) {
    entry = trim(entry);
    if (entry == "*") return true;
    std::size_t colon = entry.rfind(':');
    if (colon != std::string_view::npos && entry.find(':') == colon) {
      if (entry.substr(colon + 1) != url.port) continue;
      entry = entry.substr(0, colon);
    }
    if (starts_with(entry, "*")) entry.remove_prefix(1);
    if (starts_with(entry, ".")) entry.remove_prefix(1);
    if (entry.empty()) continue;
    if (url.host == entry || ends_with(url.host, "." + std::string(entry))) return true;
  }
  return false;
}

}  // namespace

std::string Url::origin() const {
  bool v6 = contains(host, ":");
  return fmt::format("{}://{}{}{}:{}", scheme, v6 ? "[" : "", host, v6 ? "]" : "", port);
}

Result<Url> parse_url(std::string_view text, std::string_view what) {
  text = trim(text);
  auto bad = [&](std::string_view why) {
    return fail(fmt::format("{}: {}", what, why), "write it as https://host[:port]/path");
  };
  std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return bad("it has no scheme");
  Url url;
  url.scheme = lower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https")
    return bad(fmt::format("the scheme \"{}\" is neither http nor https", url.scheme));
  text.remove_prefix(colon + 3);
  std::size_t slash = text.find_first_of("/?#");
  std::string_view authority = text.substr(0, slash);
  url.target = slash == std::string_view::npos ? "/" : std::string(text.substr(slash));
  url.target = url.target.substr(0, url.target.find('#'));
  if (!starts_with(url.target, "/")) url.target = "/" + url.target;
  if (std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user = percent_decode(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (starts_with(authority, "[")) {
    std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad("the address has no closing ]");
    url.host = lower(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
  } else {
    std::size_t at = authority.find(':');
    url.host = lower(authority.substr(0, at));
    if (at != std::string_view::npos) port = authority.substr(at);
  }
  if (url.host.empty()) return bad("it has no host");
  auto graphic = [](unsigned char c) { return c > 32 && c < 127; };
  if (!std::all_of(url.host.begin(), url.host.end(), graphic) ||
      !std::all_of(url.target.begin(), url.target.end(), graphic))
    return bad("it holds spaces, control characters or letters outside ASCII");
  if (port.empty() || port == ":") {
    url.port = url.scheme == "https" ? "443" : "80";
    return url;
  }
  port.remove_prefix(1);
  bool digits = !port.empty() && port.size() <= 5 &&
                std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  int number = digits ? std::atoi(std::string(port).c_str()) : 0;
  if (number < 1 || number > 65535) return bad(fmt::format("\"{}\" is no port", port));
  url.port = std::to_string(number);
  return url;
}

Result<Url> proxy_for(const Url& url) {
  if (is_loopback(url.host) || without_proxy(url)) return Url{};
  std::string proxy = url.scheme == "https"
                          ? environment({"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"})
                          : environment({"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"});
  if (proxy.empty()) return Url{};
  if (!contains(proxy, "://")) proxy = "http://" + proxy;
  std::string what = url.scheme == "https" ? "HTTPS_PROXY" : "HTTP_PROXY";
  if (!starts_with(lower(proxy), "http://"))
    return fail(fmt::format("{}: only http:// proxies are supported", what),
                "set it to http://host:port, or name the model's host in NO_PROXY");
  return parse_url(proxy, what);
}

}  // namespace kp
