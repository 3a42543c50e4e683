// scripted_stream.h — a connection whose other end is a script: bytes that come in pieces, and how it takes what is written.
//
// Threads   one: the io_context's. Nothing waits for real time.
#pragma once

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/byte_stream.h"

namespace hearth::testing {

struct Script {
  std::string incoming;
  std::size_t read_piece = 1;                                         // bytes a read gives
  std::size_t write_piece = 1;                                        // bytes a write takes
  std::size_t write_limit = std::numeric_limits<std::size_t>::max();  // then writes fail
  bool ended = false;  // the other end has closed: reads give the end of the file once incoming is used up

  std::string written;
  std::size_t read = 0;
  bool shut_down = false, closed = false;
  ByteStream::Done waiting;      // a read with nothing to give yet
  std::function<void()> broken;  // to be told of a reset
};

class ScriptedStream final : public ByteStream {
 public:
  ScriptedStream(boost::asio::io_context& io, std::shared_ptr<Script> script) : io_(io), script_(std::move(script)) {}

  // The script was changed: a waiting read may have its answer now.
  static void wake(boost::asio::io_context& io, Script& script) {
    if (script.waiting && script.ended)
      boost::asio::post(io, [done = std::exchange(script.waiting, nullptr)] { done(boost::asio::error::eof, 0); });
  }

  // The other end is gone.
  static void reset(boost::asio::io_context& io, Script& script) {
    if (script.broken) boost::asio::post(io, std::exchange(script.broken, nullptr));
    if (script.waiting)
      boost::asio::post(
          io, [done = std::exchange(script.waiting, nullptr)] { done(boost::asio::error::connection_reset, 0); });
  }

  boost::asio::any_io_executor executor() override { return io_.get_executor(); }
  void handshake(std::function<void(boost::system::error_code)> done) override {
    boost::asio::post(io_, [done = std::move(done)] { done({}); });
  }
  void read_some(char* data, std::size_t size, Done done) override {
    Script& s = *script_;
    const std::size_t n = std::min({size, s.read_piece, s.incoming.size() - s.read});
    if (n == 0) {
      s.waiting = std::move(done);
      return wake(io_, s);
    }
    std::memcpy(data, s.incoming.data() + s.read, n);
    s.read += n;
    boost::asio::post(io_, [done = std::move(done), n] { done({}, n); });
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    Script& s = *script_;
    const std::size_t n = std::min({size, s.write_piece, s.write_limit - s.written.size()});
    s.written.append(data, n);
    boost::asio::post(io_, [done = std::move(done), n] {
      done(n > 0 ? boost::system::error_code() : boost::asio::error::broken_pipe, n);
    });
  }
  void on_broken(std::function<void()> f) override { script_->broken = std::move(f); }
  void shutdown_send() override { script_->shut_down = true; }
  void close() override {
    script_->closed = true;
    if (script_->broken) boost::asio::post(io_, [f = std::exchange(script_->broken, nullptr)] {});
    if (script_->waiting)
      boost::asio::post(
          io_, [done = std::exchange(script_->waiting, nullptr)] { done(boost::asio::error::operation_aborted, 0); });
  }
  std::string peer() const override { return "127.0.0.1:1"; }

 private:
  boost::asio::io_context& io_;
  std::shared_ptr<Script> script_;
};

}  // namespace hearth::testing
