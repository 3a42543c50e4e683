// tls_context.h — certificate, key and client verification from files; reloaded when they change, if asked.
//
// Threads   current(): any.
// Errors    StartupError naming the file when it cannot be read or does not fit; a failed reload keeps the old one and logs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace hearth {

struct TlsFiles {
  std::string certfile, keyfile, ca_certs, ciphers;
  int cert_reqs = 0;     // 0 none, 1 optional, 2 required
  bool refresh = false;  // look at the files' times at each new connection
};

class TlsContext {
 public:
  explicit TlsContext(TlsFiles files);
  std::shared_ptr<boost::asio::ssl::context> current();

 private:
  std::shared_ptr<boost::asio::ssl::context> load() const;
  std::int64_t newest() const;
  TlsFiles files_;
  std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::int64_t loaded_ = 0;
};

}  // namespace hearth
