#include <poll.h>

#include <boost/asio/buffer.hpp>

#include "server/http/byte_stream.h"

namespace hearth {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(GenericSocket socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  boost::asio::any_io_executor executor() override { return socket_.get_executor(); }
  void handshake(std::function<void(boost::system::error_code)> done) override { done({}); }
  void read_some(char* data, std::size_t size, Done done) override {
    socket_.async_read_some(boost::asio::buffer(data, size), std::move(done));
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    socket_.async_write_some(boost::asio::buffer(data, size), std::move(done));
  }
  void on_broken(std::function<void()> f) override { hearth::on_broken(socket_, std::move(f)); }
  void shutdown_send() override {
    boost::system::error_code ignored;
    socket_.shutdown(GenericSocket::shutdown_send, ignored);
  }
  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  std::string peer() const override { return peer_; }

 private:
  GenericSocket socket_;
  std::string peer_;
};

}  // namespace

void on_broken(GenericSocket& socket, std::function<void()> f) {
  socket.async_wait(GenericSocket::wait_error, [&socket, f = std::move(f)](boost::system::error_code ec) {
    if (ec) return;
    pollfd state{socket.native_handle(), 0, 0};
    // Urgent data wakes this wait, too, and is nobody's business here.
    if (poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0) f();
  });
}

std::unique_ptr<ByteStream> make_plain_stream(GenericSocket socket, std::string peer) {
  return std::make_unique<PlainStream>(std::move(socket), std::move(peer));
}

}  // namespace hearth
