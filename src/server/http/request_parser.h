// request_parser.h — bytes to one HTTP/1.x request, by Boost.Beast's parser. Feed it in any pieces.
//
// Owns      the request being built. One for each request; reset() makes it ready for the next.
// Limits    header block (one header may fill it), trailers and header count → 431, body → 413, anything malformed → 400,
//           other versions → 505. Trailers are read and dropped.
// Errors    failed() with status() and message(); the connection cannot be used for a further request then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace hearth {

struct ParserLimits {
  std::int64_t max_header_bytes = 4194304;
  int max_header_count = 256;
  std::int64_t max_body_bytes = std::int64_t{256} << 20;
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();

  // Takes what it can from the front and says how much. 0 means: wait for more, the unread bytes included.
  std::size_t feed(std::string_view bytes);

  bool header_done() const;     // method, target and headers are known
  bool wants_continue() const;  // "Expect: 100-continue" and a body to come; false once told
  void told_continue();
  bool done() const;
  std::size_t body_bytes() const;  // so far
  bool failed() const { return status_ != 0; }
  int status() const { return status_; }
  const std::string& message() const { return message_; }

  HttpRequest take();  // after header_done(); the body too when done()
  void reset();

 private:
  struct Impl;
  void fail(int status, std::string message);
  void check_header();
  ParserLimits limits_;
  std::unique_ptr<Impl> impl_;
  int status_ = 0;
  std::string message_;
  bool header_checked_ = false, wants_continue_ = false;
};

}  // namespace hearth
