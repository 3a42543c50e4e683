// message.h — a request and a response as the rest of the server sees them: plain values, no socket, no parser.
//
// Units     bodies are bytes; version is 10 or 11.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

bool equals_ignoring_case(std::string_view a, std::string_view b);

class Headers {
 public:
  void add(std::string name, std::string value) { list_.emplace_back(std::move(name), std::move(value)); }
  void set(std::string_view name, std::string value);    // replaces
  const std::string* find(std::string_view name) const;  // the first; names compare without case
  std::string_view get(std::string_view name) const;     // empty when absent
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

struct HttpRequest {
  std::string method;
  std::string target;  // as it came
  std::string path;    // percent-decoded, without the query
  std::string query;
  std::string host;  // of an absolute-form target, else the Host header
  int version = 11;
  bool keep_alive = true;  // what the client asks for
  Headers headers;
  std::string body;
  std::string peer;                           // "127.0.0.1:53412"
  std::string id;                             // value of x-request-id, given or made
  std::map<std::string, std::string> params;  // of the route: {id} → "Qwen/Qwen3"
  std::string route;                          // the template that matched; empty when none did
  int handler = -1;                           // the router's number for it
  std::vector<std::string> allowed_methods;   // on this path; empty: the path is unknown

  bool is_head() const { return method == "HEAD"; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";  // empty: none is sent
  std::string body;
  Headers headers;
};

std::string_view reason_phrase(int status);

// "POST /v1/completions" for a log: as it came, so that no escape ends the line, and never longer than a log can bear.
std::string request_line(const HttpRequest& request);

// Splits "/a%2Fb?x=1", "http://host/a" and "*" into path, query and host. False: the escapes are broken or the target is none.
bool parse_target(std::string_view target, HttpRequest& request);
// "x=1" of a query, percent-decoded; empty when absent.
std::string query_value(std::string_view query, std::string_view name);

}  // namespace hearth
