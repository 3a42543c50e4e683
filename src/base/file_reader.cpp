#include "base/file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace hearth {
namespace {

// Large reads go piecewise, so that the page cache never holds more than this behind one reader. What small reads leave
// there goes with the reader.
constexpr std::uint64_t kPieceBytes = 8u << 20;
constexpr ssize_t kDropBytes = 64 << 10;

[[noreturn]] void cannot_open(const std::string& path, int error) {
  throw StartupError(fmt::format("cannot open the file: {}", std::strerror(error)), path,
                     error == EMFILE || error == ENFILE ? "allow more open files: ulimit -n 4096"
                                                        : "check the path and its permissions");
}

[[noreturn]] void too_large(const std::string& path, std::uint64_t limit_bytes, const std::string& found) {
  throw StartupError(fmt::format("expected at most {} bytes, found {}", limit_bytes, found), path,
                     "this is not the file it should be");
}

}  // namespace

FileReader::FileReader(std::string path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  if (fd_ < 0) cannot_open(path_, errno);
  struct stat st {};
  if (::fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd_);
    throw StartupError(S_ISDIR(st.st_mode) ? "expected a regular file, found a folder" : "expected a regular file",
                       path_, "check the path");
  }
  size_ = static_cast<std::uint64_t>(st.st_size);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

FileReader::~FileReader() {
  if (fd_ < 0) return;
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd_);
}

void FileReader::read(std::uint64_t offset, std::span<std::byte> dst) const {
  if (offset > size_ || dst.size() > size_ - offset) {
    throw StartupError(
        fmt::format("expected {} bytes at offset {}, found the end of the file at {}", dst.size(), offset, size_),
        path_, "the file is truncated: fetch it again");
  }
  std::uint64_t done = 0;
  while (done < dst.size()) {
    const std::uint64_t at = offset + done;
    const std::uint64_t piece = std::min<std::uint64_t>(kPieceBytes, dst.size() - done);
    const ssize_t got = ::pread(fd_, dst.data() + done, piece, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw StartupError(fmt::format("reading {} bytes at offset {} failed: {}", piece, at, std::strerror(errno)),
                         path_, "check the disk");
    if (got == 0) {
      throw StartupError(fmt::format("expected {} bytes in the file, found its end at {} while reading", size_, at),
                         path_, "the file changed while it was read: let the copy or download finish first");
    }
    if (got >= kDropBytes) ::posix_fadvise(fd_, static_cast<off_t>(at), static_cast<off_t>(got), POSIX_FADV_DONTNEED);
    done += static_cast<std::uint64_t>(got);
  }
}

std::string FileReader::text(std::uint64_t limit_bytes) const {
  if (size_ > limit_bytes) too_large(path_, limit_bytes, std::to_string(size_));
  std::string s(static_cast<std::size_t>(size_), '\0');
  read(0, std::as_writable_bytes(std::span(s)));
  return s;
}

bool file_present(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0) return true;
  const auto absent = [](int error) { return error == ENOENT || error == ENOTDIR; };
  if (!absent(errno)) cannot_open(path, errno);
  if (::lstat(path.c_str(), &st) != 0) {
    if (absent(errno)) return false;
    cannot_open(path, errno);
  }
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  throw StartupError(
      fmt::format("a link to '{}', where nothing is",
                  std::string_view(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length)))),
      path, "the download is incomplete: fetch the file again, or remove the link");
}

std::string read_text(const std::string& path, std::uint64_t limit_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) cannot_open(path, errno);
  std::string text;
  std::array<char, 65536> piece{};
  ssize_t got = 0;
  int error = 0;
  while (text.size() <= limit_bytes) {
    got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    error = errno;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  if (got < 0)
    throw StartupError(fmt::format("cannot read the file: {}", std::strerror(error)), path,
                       error == EISDIR ? "name a file" : "check the disk");
  if (text.size() > limit_bytes) too_large(path, limit_bytes, "more");
  return text;
}

}  // namespace hearth
