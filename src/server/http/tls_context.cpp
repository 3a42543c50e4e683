#include "server/http/tls_context.h"

#include <openssl/ssl.h>
#include <sys/stat.h>

#include <boost/asio/ssl/context.hpp>

#include "base/log.h"
#include "base/status.h"

namespace hearth {
namespace ssl = boost::asio::ssl;

TlsContext::TlsContext(TlsFiles files) : files_(std::move(files)), context_(load()), loaded_(newest()) {}

std::shared_ptr<ssl::context> TlsContext::load() const {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  boost::system::error_code ec;
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                           ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1,
                       ec);
  context->use_certificate_chain_file(files_.certfile, ec);
  if (ec)
    throw StartupError("the TLS certificate cannot be used: " + ec.message(), "--ssl-certfile " + files_.certfile,
                       "give a PEM file with the certificate first and its chain after it");
  context->use_private_key_file(files_.keyfile, ssl::context::pem, ec);
  if (ec)
    throw StartupError("the TLS key cannot be used: " + ec.message(), "--ssl-keyfile " + files_.keyfile,
                       "give the unencrypted PEM key that belongs to the certificate");
  if (!files_.ca_certs.empty()) {
    context->load_verify_file(files_.ca_certs, ec);
    if (ec)
      throw StartupError("the CA certificates cannot be used: " + ec.message(), "--ssl-ca-certs " + files_.ca_certs,
                         "give a PEM file of CA certificates");
  }
  if (!files_.ciphers.empty() && SSL_CTX_set_cipher_list(context->native_handle(), files_.ciphers.c_str()) != 1)
    throw StartupError("OpenSSL knows none of these ciphers", "--ssl-ciphers " + files_.ciphers,
                       "`openssl ciphers` lists the names");
  int mode = ssl::verify_none;
  if (files_.cert_reqs >= 1) mode = ssl::verify_peer;
  if (files_.cert_reqs >= 2) mode |= ssl::verify_fail_if_no_peer_cert;
  context->set_verify_mode(mode, ec);
  return context;
}

std::int64_t TlsContext::newest() const {
  std::int64_t newest = 0;  // nanoseconds: two files may change within a second
  for (const std::string* file : {&files_.certfile, &files_.keyfile, &files_.ca_certs}) {
    struct stat info {};
    if (!file->empty() && stat(file->c_str(), &info) == 0)
      newest = std::max(newest, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec);
  }
  return newest;
}

std::shared_ptr<ssl::context> TlsContext::current() {
  const std::lock_guard lock(mutex_);
  if (files_.refresh && newest() != loaded_) {
    loaded_ = newest();
    try {
      context_ = load();
      log_info("TLS files reloaded");
    } catch (const StartupError& e) {
      log_error("TLS files changed but cannot be used, the old ones stay: {} ({})", e.what(), e.where());
    }
  }
  return context_;
}

}  // namespace hearth
