#pragma once
// One HTTP(S) request with a streamed answer. Proxies come from HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY (lower case too); certificates are always checked, against SSL_CERT_FILE, SSL_CERT_DIR
// or the system's own bundle. Redirects are not followed.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kp {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string user;    // "name:password", decoded; never printed
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // always set
  std::string target;  // path and query, starts with '/'

  std::string origin() const;  // "https://host:port", without the user; for messages
};

// Error says what is wrong with it; `what` names the option ("base URL").
Result<Url> parse_url(std::string_view text, std::string_view what);

// The proxy for `url` by the environment; an empty host means none. Loopback never has one.
Result<Url> proxy_for(const Url& url);

struct HttpRequest {
  std::string method = "POST";
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  double connect_timeout_s = 30;
  double idle_timeout_s = 300;        // without a single byte
  double timeout_s = 600;             // of the whole request
  std::size_t max_bytes = 64U << 20;  // of the answer's body
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // of answers that are not 2xx
};

// `on_body` gets the body of a 2xx answer piece by piece as it arrives; false ends the request
// there. Error: no connection, a certificate that does not hold, a time limit, a body that ends too
// early; never an HTTP status.
Result<HttpResponse> http_request(const HttpRequest& request,
                                  const std::function<bool(std::string_view)>& on_body);

}  // namespace kp
