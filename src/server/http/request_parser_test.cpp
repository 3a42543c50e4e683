#include "server/http/request_parser.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

struct Parsed {
  HttpRequest request;
  int status = 0;
  std::size_t used = 0;
  bool done = false;
};

// Feeds the text in pieces of `step` bytes, keeping what was not taken in front of the next piece.
Parsed parse(const std::string& text, std::size_t step = std::string::npos, ParserLimits limits = {}) {
  RequestParser parser(limits);
  std::string pending;
  Parsed out;
  for (std::size_t i = 0; i < text.size() && !parser.done() && !parser.failed(); i += step) {
    pending += text.substr(i, step);
    const std::size_t used = parser.feed(pending);
    pending.erase(0, used);
    out.used += used;
    if (step > text.size()) break;
  }
  out.done = parser.done() && !parser.failed();
  out.status = parser.status();
  if (out.done) out.request = parser.take();
  if (parser.failed()) out.status = parser.status();
  return out;
}

const std::string kPost = "POST /v1/a%20b?x=1&y=a%2Fb HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello";

TEST(RequestParser, WholeAndByteByByteAreTheSame) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::string::npos}) {
    const Parsed p = parse(kPost, step);
    ASSERT_TRUE(p.done) << step;
    EXPECT_EQ(p.request.method, "POST");
    EXPECT_EQ(p.request.path, "/v1/a b");
    EXPECT_EQ(p.request.query, "x=1&y=a%2Fb");
    EXPECT_EQ(query_value(p.request.query, "y"), "a/b");
    EXPECT_EQ(p.request.headers.get("x-y"), "z");
    EXPECT_EQ(p.request.body, "hello");
    EXPECT_TRUE(p.request.keep_alive);
  }
}

TEST(RequestParser, StopsAtTheEndOfARequest) {
  const Parsed p = parse(kPost + "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(p.done);
  EXPECT_EQ(p.used, kPost.size());
}

TEST(RequestParser, ChunkedBodies) {
  const std::string text =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::string::npos}) {
    const Parsed p = parse(text, step);
    ASSERT_TRUE(p.done) << step;
    EXPECT_EQ(p.request.body, "abcdefg");
  }
}

TEST(RequestParser, AbsoluteFormAndHttp10) {
  const Parsed p = parse("GET http://example.com:81/a/b?c HTTP/1.0\r\nHost: other\r\n\r\n");
  ASSERT_TRUE(p.done);
  EXPECT_EQ(p.request.host, "example.com:81");
  EXPECT_EQ(p.request.path, "/a/b");
  EXPECT_EQ(p.request.version, 10);
  EXPECT_FALSE(p.request.keep_alive);
}

TEST(RequestParser, Limits) {
  const std::string long_header = "GET / HTTP/1.1\r\nA: " + std::string(500, 'x') + "\r\n\r\n";
  EXPECT_EQ(parse(long_header, std::string::npos, {.max_header_bytes = 100}).status, 431);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 20; ++i) many += "H" + std::to_string(i) + ": x\r\n";
  EXPECT_EQ(parse(many + "\r\n", std::string::npos, {.max_header_count = 10}).status, 431);
  EXPECT_EQ(parse(kPost, std::string::npos, {.max_body_bytes = 4}).status, 413);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", 7,
                  {.max_body_bytes = 4})
                .status,
            413);
  EXPECT_TRUE(parse(kPost, std::string::npos, {.max_body_bytes = 5}).done);
}

// 64 KiB is where Beast's own container of fields throws.
TEST(RequestParser, OneHeaderMayFillTheBlockWhateverItsSize) {
  const std::string big(70000, 'x');
  const std::string line = "GET /h HTTP/1.1\r\n";
  for (const std::size_t step : {std::size_t{10000}, std::string::npos}) {
    const Parsed value = parse(line + "A: " + big + "\r\n\r\n", step);
    ASSERT_TRUE(value.done);
    EXPECT_EQ(value.request.headers.get("a"), big);
    const Parsed name = parse(line + big + ": a\r\n\r\n", step);
    ASSERT_TRUE(name.done);
    EXPECT_EQ(name.request.headers.get(big), "a");
    EXPECT_TRUE(parse("GET /" + big + " HTTP/1.1\r\n\r\n", step).done);
    EXPECT_EQ(parse(line + "A: " + big + "\r\n\r\n", step, {.max_header_bytes = 66000}).status, 431);
    EXPECT_EQ(parse(line + big + ": a\r\n\r\n", step, {.max_header_bytes = 66000}).status, 431);
  }
}

TEST(RequestParser, TrailersAreDroppedAndLimited) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0";
  const std::string big(70000, 'x');
  for (const std::size_t step : {std::size_t{10000}, std::string::npos}) {
    const Parsed p = parse(head + "\r\nAuthorization: Bearer k\r\nX: " + big + "\r\n\r\n", step);
    ASSERT_TRUE(p.done);
    EXPECT_EQ(p.request.body, "a");
    EXPECT_EQ(p.request.headers.get("authorization"), "");
    EXPECT_EQ(parse(head + "\r\nX: " + big, step, {.max_header_bytes = 66000}).status, 431);
    EXPECT_EQ(parse(head + ";a=" + big, step, {.max_header_bytes = 66000}).status, 431);
  }
}

TEST(RequestParser, MalformedIsRefusedNotCrashed) {
  EXPECT_EQ(parse("GARBAGE\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET  / HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET / HTTP/2.0\r\n\r\n").status, 505);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n").status, 400);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd").status, 400);
  EXPECT_EQ(parse("GET /%zz HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(parse("GET /%00 HTTP/1.1\r\n\r\n").status, 400);
}

TEST(RequestParser, Expect) {
  RequestParser parser({});
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_EQ(parser.feed(head), head.size());
  EXPECT_TRUE(parser.wants_continue());
  parser.told_continue();
  EXPECT_EQ(parser.feed("ab"), 2u);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: the-moon\r\n\r\nab").status, 417);
}

}  // namespace
}  // namespace hearth
