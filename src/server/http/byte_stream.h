// byte_stream.h — a connected socket, plain or TLS, TCP or Unix: the session above it does not know which.
//
// Threads   all calls and all completions on executor(), which is a strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace hearth {

class ByteStream {
 public:
  using Done = std::function<void(boost::system::error_code, std::size_t)>;
  virtual ~ByteStream() = default;

  virtual boost::asio::any_io_executor executor() = 0;
  virtual void handshake(std::function<void(boost::system::error_code)> done) = 0;
  virtual void read_some(char* data, std::size_t size, Done done) = 0;
  virtual void write_some(const char* data, std::size_t size, Done done) = 0;
  // f once, if the peer resets the connection or has closed both its sides; never after close(). f keeps the stream alive.
  virtual void on_broken(std::function<void()> f) = 0;
  virtual void shutdown_send() = 0;  // says that nothing follows; reading goes on
  virtual void close() = 0;          // ends everything pending with operation_aborted
  virtual std::string peer() const = 0;
};

using GenericSocket = boost::asio::generic::stream_protocol::socket;

void on_broken(GenericSocket& socket, std::function<void()> f);

// Of an accepted socket whose executor is a strand.
std::unique_ptr<ByteStream> make_plain_stream(GenericSocket socket, std::string peer);
std::unique_ptr<ByteStream> make_tls_stream(GenericSocket socket, std::string peer,
                                            std::shared_ptr<boost::asio::ssl::context> context);

}  // namespace hearth
