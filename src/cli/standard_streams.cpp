#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/status.h"

namespace hearth {
namespace {

std::string reason(int error) { return error ? ": " + std::string(std::strerror(error)) : std::string(); }

}  // namespace

void fill_standard_streams() {
  int fd = 0;
  do fd = ::open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw StartupError("cannot read the input" + reason(errno), "standard input", "check where it comes from");
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void flush_output() { print_now(""); }

void print_now(std::string_view text) {
  errno = 0;
  const bool failed = std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0;
  const int error = errno;
  if (!failed && std::ferror(stdout) == 0) return;
  if (error == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  throw StartupError("cannot write the output" + reason(error), "standard output", "check where it goes");
}

}  // namespace hearth
