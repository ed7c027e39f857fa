#pragma once
// For tests: an HTTP server on loopback that follows a script, one step a connection, in a thread.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kp {

// A self-signed certificate for `san` ("IP:127.0.0.1", "DNS:model.test"), made anew.
struct SelfSigned {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;

  explicit SelfSigned(const char* san)
      : key(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate(X509_new(), X509_free) {
    X509* x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key.get());
    X509_NAME* name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("kernelpro test"), -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, san);
    X509_add_ext(x, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(x, key.get(), EVP_sha256());
  }

  std::string pem() const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, certificate.get());
    char* data = nullptr;
    long n = BIO_get_mem_data(out, &data);
    std::string text(data, static_cast<std::size_t>(n));
    BIO_free(out);
    return text;
  }
};

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    ::close(fd_);
  }

  bool start_tls(const SelfSigned& identity) {
    context_.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX_use_certificate(context_.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    ssl_ = SSL_new(context_.get());
    SSL_set_fd(ssl_, fd_);
    return SSL_accept(ssl_) == 1;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                  : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  // One chunk of a chunked body; an empty one ends it.
  void chunk(std::string_view bytes) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    send(size + std::string(bytes) + "\r\n");
  }

  // The whole request: head, and the body that its Content-Length tells.
  std::string receive() {
    std::string text;
    std::size_t need = std::string::npos;
    char buffer[4096];
    while (text.size() < need) {
      ssize_t n = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof buffer)
                                  : ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(n));
      std::size_t head = text.find("\r\n\r\n");
      if (need != std::string::npos || head == std::string::npos) continue;
      std::size_t at = text.find("Content-Length: ");
      need = head + 4;
      if (at != std::string::npos && at < head)
        need += static_cast<std::size_t>(std::atoll(text.c_str() + at + 16));
    }
    return text;
  }

  // Until the client has gone.
  void hang() {
    pollfd p{fd_, POLLIN, 0};
    char buffer[512];
    while (::poll(&p, 1, 10000) > 0 && ::recv(fd_, buffer, sizeof buffer, 0) > 0) {
    }
  }

 private:
  int fd_;
  std::shared_ptr<SSL_CTX> context_;
  SSL* ssl_ = nullptr;
};

// A step has its connection and the request that came on it; the last step serves all that follow.
using ServerStep = std::function<void(Connection&, const std::string& request)>;

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<ServerStep> script, const SelfSigned* identity = nullptr)
      : script_(std::move(script)), identity_(identity) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(fd_, 8);
    socklen_t size = sizeof address;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    stop_ = true;
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }

  int port() const { return port_; }
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (std::size_t i = 0; !stop_; ++i) {
      int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      timeval limit{10, 0};  // no test waits longer for a client that says nothing
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      Connection connection(fd);
      if (identity_ != nullptr && !connection.start_tls(*identity_)) continue;
      std::string request = connection.receive();
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      script_[std::min(i, script_.size() - 1)](connection, request);
    }
  }

  std::vector<ServerStep> script_;
  const SelfSigned* identity_;
  int fd_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace kp
