#include "llm/http.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "llm/scripted_server.h"

namespace kp {
namespace {

const char* const kProxyNames[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy",
                                   "ALL_PROXY",   "all_proxy",   "NO_PROXY",   "no_proxy"};

class Http : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kProxyNames) ::unsetenv(name);
    ::unsetenv("SSL_CERT_FILE");
    ::unsetenv("SSL_CERT_DIR");
  }
  void TearDown() override { SetUp(); }

  static std::string get(const std::string& url, std::size_t max_bytes = 1U << 20) {
    HttpRequest request;
    request.method = "GET";
    request.url = parse_url(url, "URL").value();
    request.timeout_s = 10;
    request.connect_timeout_s = 2;
    request.max_bytes = max_bytes;
    std::string body;
    auto response = http_request(request, [&](std::string_view piece) {
      body += piece;
      return true;
    });
    return response ? body : "error: " + response.error().text();
  }
};

#define EXPECT_SAYS(text, part) EXPECT_TRUE(contains(text, part)) << text

void say_hi(Connection& c, const std::string&) {
  c.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
}

TEST_F(Http, Urls) {
  Url url = parse_url("HTTPS://me:p%40ss@Host.Example:8443/v1?a=b#c", "URL").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.user, "me:p@ss");
  EXPECT_EQ(url.host, "host.example");
  EXPECT_EQ(url.port, "8443");
  EXPECT_EQ(url.target, "/v1?a=b");
  EXPECT_EQ(url.origin(), "https://host.example:8443");
  EXPECT_EQ(parse_url("http://[::1]", "URL")->origin(), "http://[::1]:80");
  EXPECT_EQ(parse_url("https://h?q", "URL")->target, "/?q");
}

TEST_F(Http, ProxyByEnvironment) {
  auto proxy = [](const char* url) {
    auto p = proxy_for(parse_url(url, "URL").value());
    return p ? (p->host.empty() ? "none" : p->origin()) : p.error().message;
  };
  EXPECT_EQ(proxy("https://api.test/"), "none");
  ::setenv("HTTPS_PROXY", "http://p1:3128", 1);
  ::setenv("http_proxy", "p2:8080", 1);
  EXPECT_EQ(proxy("https://api.test/"), "http://p1:3128");
  EXPECT_EQ(proxy("http://api.test/"), "http://p2:8080");
  EXPECT_EQ(proxy("http://127.0.0.2/"), "none");
  EXPECT_EQ(proxy("http://localhost:1/"), "none");
  ::setenv("NO_PROXY", "a.test, .api.test,b.test:99", 1);
  EXPECT_EQ(proxy("https://api.test/"), "none");
  EXPECT_EQ(proxy("https://eu.api.test/"), "none");
  EXPECT_EQ(proxy("https://myapi.test/"), "http://p1:3128");
  EXPECT_EQ(proxy("https://b.test/"), "http://p1:3128");
  EXPECT_EQ(proxy("https://b.test:99/"), "none");
  ::setenv("NO_PROXY", "*", 1);
  EXPECT_EQ(proxy("https://x.test/"), "none");
  ::unsetenv("NO_PROXY");
  ::setenv("HTTPS_PROXY", "socks5://p:1", 1);
  EXPECT_SAYS(proxy("https://x.test/"), "only http:// proxies");
}

TEST_F(Http, PlainRequestThroughAProxy) {
  ScriptedServer server({say_hi});
  ::setenv("HTTP_PROXY", ("http://me:pw@127.0.0.1:" + std::to_string(server.port())).c_str(), 1);
  EXPECT_EQ(get("http://model.test/v1"), "hi");
  std::string request = server.requests().at(0);
  EXPECT_TRUE(starts_with(request, "GET http://model.test:80/v1 HTTP/1.1\r\n")) << request;
  EXPECT_SAYS(request, "Proxy-Authorization: Basic bWU6cHc=");
}

TEST_F(Http, TooLongABodyIsRefused) {
  ServerStep flood = [](Connection& c, const std::string&) {
    c.send("HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 100; ++i) c.send(std::string(1000, 'x'));
  };
  ScriptedServer server({flood});
  EXPECT_SAYS(get("http://127.0.0.1:" + std::to_string(server.port()), 10000), "over 10000 bytes");
}

TEST_F(Http, CertificatesAreChecked) {
  SelfSigned identity("IP:127.0.0.1");
  ScriptedServer server({say_hi}, &identity);
  std::string port = std::to_string(server.port());
  std::string refused = get("https://127.0.0.1:" + port + "/");
  EXPECT_SAYS(refused, "its certificate is not trusted: self");
  EXPECT_SAYS(refused, "SSL_CERT_FILE");
  EXPECT_TRUE(server.requests().empty());  // nothing was sent

  auto folder = TempFolder::make("kp-http").value();
  ASSERT_TRUE(write_file(folder.path() / "ca.pem", identity.pem()));
  ::setenv("SSL_CERT_FILE", (folder.path() / "ca.pem").c_str(), 1);
  EXPECT_EQ(get("https://127.0.0.1:" + port + "/"), "hi");
  EXPECT_SAYS(get("https://localhost:" + port + "/"), "mismatch");  // trusted, but not this name
}

TEST_F(Http, TlsThroughATunnel) {
  SelfSigned identity("DNS:model.test");
  ServerStep tunnel = [&](Connection& c, const std::string& request) {
    if (!starts_with(request, "CONNECT model.test:443 HTTP/1.1\r\n")) return;
    c.send("HTTP/1.1 200 Connection established\r\n\r\n");
    if (!c.start_tls(identity)) return;
    std::string inner = c.receive();
    if (starts_with(inner, "GET /v1 HTTP/1.1\r\n")) say_hi(c, inner);
  };
  ServerStep closed = [](Connection& c, const std::string&) {
    c.send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
  };
  ScriptedServer proxy({tunnel, closed});
  auto folder = TempFolder::make("kp-http").value();
  ASSERT_TRUE(write_file(folder.path() / "ca.pem", identity.pem()));
  ::setenv("SSL_CERT_FILE", (folder.path() / "ca.pem").c_str(), 1);
  ::setenv("HTTPS_PROXY", ("http://127.0.0.1:" + std::to_string(proxy.port())).c_str(), 1);
  EXPECT_EQ(get("https://model.test/v1"), "hi");
  EXPECT_SAYS(get("https://model.test/v1"), "HTTP 407");
}

TEST_F(Http, PlainServerOnAnHttpsUrl) {
  ScriptedServer server({say_hi});
  Stopwatch watch;
  std::string text = get("https://127.0.0.1:" + std::to_string(server.port()) + "/");
  EXPECT_TRUE(starts_with(text, "error: ")) << text;
  EXPECT_LT(watch.seconds(), 15);
}

}  // namespace
}  // namespace kp
