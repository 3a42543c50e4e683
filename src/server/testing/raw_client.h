// raw_client.h — a socket that says exactly what a test wants, and an HTTP answer read back from it.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/json.h"

namespace hearth::testing {

class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const timeval limit{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // close() then sends a reset.
  void reset() {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  void shutdown_send() { shutdown(fd_, SHUT_WR); }
  void send(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }
  // Until `what` has come (empty: until the end). Returns everything so far.
  std::string read_until(const std::string& what) {
    char buffer[65536];
    while (what.empty() || got_.find(what) == std::string::npos) {
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got_.append(buffer, static_cast<std::size_t>(n));
    }
    return got_;
  }
  std::string read_all() { return read_until(""); }

 private:
  int fd_;
  bool connected_ = false;
  std::string got_;
};

struct RawAnswer {
  int status = 0;
  std::string head, body;
  Json json() const { return Json::parse(body, nullptr, false); }
};

// One request on a connection of its own, as HTTP/1.0 so that the body needs no unchunking.
inline RawAnswer ask(int port, const std::string& method, const std::string& path, const std::string& body = {},
                     const std::string& headers = {}) {
  RawClient c(port);
  std::string request = method + " " + path + " HTTP/1.0\r\n" + headers;
  if (!body.empty()) {
    if (headers.find("Content-Type") == std::string::npos) request += "Content-Type: application/json\r\n";
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  c.send(request + "\r\n" + body);
  const std::string all = c.read_all();
  RawAnswer answer;
  const std::size_t end = all.find("\r\n\r\n");
  if (all.size() < 12 || end == std::string::npos) return answer;
  answer.status = std::atoi(all.c_str() + 9);
  answer.head = all.substr(0, end + 2);
  answer.body = all.substr(end + 4);
  return answer;
}

}  // namespace hearth::testing
