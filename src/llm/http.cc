// The only file that includes Boost.Beast: it takes most of a minute to compile.
#include "llm/http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"

namespace kp {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

std::string base64(const std::string& text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock adds a final zero
  int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<const unsigned char*>(text.data()),
                          static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

// One connection: each step starts one asynchronous operation and runs it to its end or its limit.
struct Connection {
  const HttpRequest& request;
  net::io_context io;
  beast::tcp_stream tcp{io};
  beast::flat_buffer buffer;
  Stopwatch watch;
  bool by_deadline = false;  // the last time-out was the whole request's

  explicit Connection(const HttpRequest& r) : request(r) {}

  template <class Start>
  error_code step(double limit_s, Start start) {
    double left = request.timeout_s - watch.seconds();
    by_deadline = left <= limit_s;
    double limit = std::min(limit_s, left);
    if (limit <= 0) return beast::error::timeout;
    tcp.expires_after(std::chrono::milliseconds(std::llround(std::ceil(limit * 1000))));
    error_code result = beast::error::timeout;
    start([&result](error_code ec, auto&&...) { result = ec; });
    io.restart();
    io.run();
    return result;
  }

  std::string limit_words(double limit_s) const {
    if (by_deadline) return fmt::format("it was not done within {:.3g} s", request.timeout_s);
    return fmt::format("not a byte came for {:g} s", limit_s);
  }

  std::string words(error_code ec, double limit_s) const {
    if (ec == beast::error::timeout) return limit_words(limit_s);
    if (ec == http::error::end_of_stream || ec == http::error::partial_message ||
        ec == net::error::eof || ec == net::ssl::error::stream_truncated)
      return "the connection was closed before the answer was whole";
    if (ec == http::error::body_limit)
      return fmt::format("the answer is over {} bytes", request.max_bytes);
    if (ec.category() == net::error::get_system_category()) return ec.message();
    return fmt::format("not HTTP as it should be ({})", ec.message());
  }

  Status connect(const Url& to, std::string_view as) {
    std::string where = fmt::format("{}{}", to.origin(), as);
    net::ip::tcp::resolver resolver(io);
    net::ip::tcp::resolver::results_type found;
    error_code ec = net::error::timed_out;
    resolver.async_resolve(to.host, to.port, [&](error_code e, auto results) {
      ec = e;
      found = results;
    });
    double limit = std::min(request.connect_timeout_s, request.timeout_s);
    io.restart();
    io.run_for(std::chrono::milliseconds(std::llround(limit * 1000)));
    if (ec) {
      resolver.cancel();
      return fail(fmt::format("cannot find the host of {}: {}", where, ec.message()),
                  "check the base URL and the network (doctor shows both)");
    }
    ec = step(request.connect_timeout_s, [&](auto done) { tcp.async_connect(found, done); });
    if (!ec) return {};
    std::string why = ec == beast::error::timeout
                          ? fmt::format("no answer within {:g} s", request.connect_timeout_s)
                          : ec.message();
    return fail(fmt::format("cannot connect to {}: {}", where, why),
                "is the server running, and are the host and port right? Behind a proxy, set "
                "HTTPS_PROXY");
  }

  Status tunnel(const Url& proxy) {
    std::string host =
        contains(request.url.host, ":") ? "[" + request.url.host + "]" : request.url.host;
    std::string target = host + ":" + request.url.port;
    http::request<http::empty_body> ask{http::verb::connect, target, 11};
    ask.set(http::field::host, target);
    if (!proxy.user.empty())
      ask.set(http::field::proxy_authorization, "Basic " + base64(proxy.user));
    double limit = request.connect_timeout_s;
    error_code ec = step(limit, [&](auto done) { http::async_write(tcp, ask, done); });
    http::response_parser<http::empty_body> answer;
    answer.skip(true);
    if (!ec) {
      ec = step(limit, [&](auto done) { http::async_read_header(tcp, buffer, answer, done); });
    }
    if (ec) return fail(fmt::format("the proxy {}: {}", proxy.origin(), words(ec, limit)));
    unsigned status = answer.get().result_int();
    if (status / 100 != 2)
      return fail(fmt::format("the proxy {} refused to connect to {}: HTTP {}", proxy.origin(),
                              target, status),
                  status == 407 ? "put name:password@ into HTTPS_PROXY" : "check HTTPS_PROXY");
    buffer.clear();
    return {};
  }

  template <class Stream>
  Result<HttpResponse> exchange(Stream& stream, bool by_proxy, const std::string& proxy_user,
                                const std::function<bool(std::string_view)>& on_body) {
    const Url& url = request.url;
    std::string from = url.origin();
    std::string host = from.substr(from.find("//") + 2);
    http::request<http::string_body> message;
    message.method_string(request.method);
    message.target(by_proxy ? from + url.target : url.target);
    message.version(11);
    message.set(http::field::host, host);
    message.set(http::field::connection, "close");
    message.set(http::field::accept_encoding, "identity");
    if (!proxy_user.empty())
      message.set(http::field::proxy_authorization, "Basic " + base64(proxy_user));
    for (const auto& [name, value] : request.headers) message.set(name, value);
    message.body() = request.body;
    message.prepare_payload();

    double idle = request.idle_timeout_s;
    error_code wrote = step(idle, [&](auto done) { http::async_write(stream, message, done); });
    if (wrote == beast::error::timeout)
      return fail(fmt::format("sending to {}: {}", from, words(wrote, idle)));
    // A server may answer (413, 401) and close before it has read everything: look for that.
    http::response_parser<http::string_body> parser;
    parser.eager(true);
    parser.header_limit(64U << 10);
    parser.body_limit(request.max_bytes);
    error_code ec =
        step(idle, [&](auto done) { http::async_read_header(stream, buffer, parser, done); });
    if (ec) {
      bool silent = ec == http::error::end_of_stream || ec == net::error::eof;
      return fail(silent ? fmt::format("{} closed the connection without an answer", from)
                         : fmt::format("no answer from {}: {}", from, words(ec, idle)));
    }
    HttpResponse response;
    response.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get())
      response.headers[lower(std::string_view(field.name_string()))] = field.value();
    bool good = response.status / 100 == 2;
    while (true) {
      std::string piece = std::exchange(parser.get().body(), {});
      if (!good) {
        response.body += piece;
      } else if (!piece.empty() && !on_body(piece)) {
        return response;
      }
      if (parser.is_done()) return response;
      ec = step(idle, [&](auto done) { http::async_read_some(stream, buffer, parser, done); });
      if (ec && !good) return response;  // the status says more than the torn body
      if (ec) {
        std::string last = std::exchange(parser.get().body(), {});
        if (!last.empty() && !on_body(last)) return response;
        return fail(fmt::format("the answer of {} broke off: {}", from, words(ec, idle)));
      }
    }
  }
};

// Authorities: what SSL_CERT_FILE and SSL_CERT_DIR name, else OpenSSL's own places and the bundles
// of the common distributions (this OpenSSL is linked in and knows only Debian's).
void load_authorities(net::ssl::context& context) {
  error_code ignored;
  context.set_default_verify_paths(ignored);
  if (std::getenv("SSL_CERT_FILE") != nullptr || std::getenv("SSL_CERT_DIR") != nullptr) return;
  for (const char* bundle : {"/etc/ssl/certs/ca-certificates.crt",
                             "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"}) {
    std::error_code ec;
    if (std::filesystem::exists(bundle, ec)) {
      context.load_verify_file(bundle, ignored);
      return;
    }
  }
}

Status handshake(Connection& connection, net::ssl::stream<beast::tcp_stream&>& stream) {
  const std::string& host = connection.request.url.host;
  SSL* ssl = stream.native_handle();
  unsigned char address[16];
  bool is_ip = ::inet_pton(AF_INET, host.c_str(), address) == 1 ||
               ::inet_pton(AF_INET6, host.c_str(), address) == 1;
  X509_VERIFY_PARAM* check = SSL_get0_param(ssl);
  if (is_ip) {
    X509_VERIFY_PARAM_set1_ip_asc(check, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(check, host.c_str(), host.size());
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
  stream.set_verify_mode(net::ssl::verify_peer);
  double limit = connection.request.connect_timeout_s;
  error_code ec = connection.step(
      limit, [&](auto done) { stream.async_handshake(net::ssl::stream_base::client, done); });
  if (!ec) return {};
  std::string origin = connection.request.url.origin();
  if (long why = SSL_get_verify_result(ssl); why != X509_V_OK)
    return fail(fmt::format("{}: its certificate is not trusted: {}", origin,
                            X509_verify_cert_error_string(why)),
                "set SSL_CERT_FILE to a PEM file with the authority that signed it");
  if (ec == beast::error::timeout)
    return fail(fmt::format("{}: TLS: {}", origin, connection.limit_words(limit)));
  return fail(fmt::format("{}: TLS does not start: {}", origin, ec.message()),
              "does this port speak HTTPS? For a plain server write http://");
}

Result<HttpResponse> request_or_throw(const HttpRequest& request,
                                      const std::function<bool(std::string_view)>& on_body) {
  const Url& url = request.url;
  KP_ASSIGN(Url proxy, proxy_for(url));
  bool by_proxy = !proxy.host.empty();
  Connection connection(request);
  KP_TRY(connection.connect(by_proxy ? proxy : url, by_proxy ? " (the proxy)" : ""));
  if (url.scheme == "http")
    return connection.exchange(connection.tcp, by_proxy, proxy.user, on_body);
  if (by_proxy) KP_TRY(connection.tunnel(proxy));
  net::ssl::context context(net::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  load_authorities(context);
  net::ssl::stream<beast::tcp_stream&> stream(connection.tcp, context);
  KP_TRY(handshake(connection, stream));
  return connection.exchange(stream, false, "", on_body);
}

}  // namespace

Result<HttpResponse> http_request(const HttpRequest& request,
                                  const std::function<bool(std::string_view)>& on_body) {
  try {
    return request_or_throw(request, on_body);
  } catch (const boost::system::system_error& e) {
    return fail(fmt::format("{}: {}", request.url.origin(), e.what()));
  }
}

}  // namespace kp
