#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "server/http/byte_stream.h"

namespace hearth {
namespace {

class TlsStream final : public ByteStream {
 public:
  TlsStream(GenericSocket socket, std::string peer, std::shared_ptr<boost::asio::ssl::context> context)
      : context_(std::move(context)),
        stream_(std::make_shared<Stream>(std::move(socket), *context_)),
        peer_(std::move(peer)) {}

  boost::asio::any_io_executor executor() override { return stream_->get_executor(); }
  void handshake(std::function<void(boost::system::error_code)> done) override {
    stream_->async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
  }
  void read_some(char* data, std::size_t size, Done done) override {
    stream_->async_read_some(boost::asio::buffer(data, size), std::move(done));
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    stream_->async_write_some(boost::asio::buffer(data, size), std::move(done));
  }
  void on_broken(std::function<void()> f) override { hearth::on_broken(stream_->next_layer(), std::move(f)); }
  // close_notify; its completion waits for the peer's, which may never come: close() ends it.
  void shutdown_send() override {
    stream_->async_shutdown([keep = stream_, context = context_](boost::system::error_code) {});
  }
  void close() override {
    boost::system::error_code ignored;
    stream_->lowest_layer().close(ignored);
  }
  std::string peer() const override { return peer_; }

 private:
  using Stream = boost::asio::ssl::stream<GenericSocket>;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::shared_ptr<Stream> stream_;
  std::string peer_;
};

}  // namespace

std::unique_ptr<ByteStream> make_tls_stream(GenericSocket socket, std::string peer,
                                            std::shared_ptr<boost::asio::ssl::context> context) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(peer), std::move(context));
}

}  // namespace hearth
