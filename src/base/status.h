// status.h — how a request-path failure is said: a code, a message for a person, and the field it concerns.
//
// Limits    Status is for what a client or a caller can get wrong. A bug is HEARTH_CHECK (check.h); a failure before
//           "ready" is StartupError.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace hearth {

enum class Code {
  ok,
  invalid_argument,    // 400
  malformed,           // 400: not the shape the schema asks for (type, missing, unparsable)
  unauthenticated,     // 401
  not_found,           // 404
  method_not_allowed,  // 405
  too_large,           // 413
  resource_exhausted,  // 429 / 503: queue full, shutting down
  unimplemented,       // 400: known, not offered yet
  internal,            // 500
  unavailable,         // 503
};

struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::string message;
  std::string param;  // the field of the request, dotted; empty when none

  bool ok() const { return code == Code::ok; }
};

inline Status invalid_argument(std::string message, std::string param = {}) {
  return {Code::invalid_argument, std::move(message), std::move(param)};
}

inline Status malformed(std::string message, std::string param = {}) {
  return {Code::malformed, std::move(message), std::move(param)};
}

// Thrown before "ready": flags, config, checkpoint, device. main prints the three parts and exits.
class StartupError : public std::runtime_error {
 public:
  // what was found and what was expected; where (file, tensor, flag); what to try.
  StartupError(const std::string& what, std::string where, std::string hint, int exit_code = 1)
      : std::runtime_error(what), where_(std::move(where)), hint_(std::move(hint)), exit_code_(exit_code) {}
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }
  int exit_code() const { return exit_code_; }  // 2 for arguments, 1 for the rest

 private:
  std::string where_;
  std::string hint_;
  int exit_code_;
};

}  // namespace hearth
