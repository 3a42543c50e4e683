// file_reader.h — bytes of one file at given offsets, and small files whole.
//
// Owns      the descriptor. What has been read is dropped from the page cache behind it, so that weights are held once.
// Threads   read() from any thread (pread).
// Errors    StartupError: cannot open, no regular file, range past the end, read error, file cut while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hearth {

constexpr std::uint64_t kTextLimitBytes = 256u << 20;  // the index of a large mixture of experts is about 20 MB

class FileReader {
 public:
  explicit FileReader(std::string path);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&&) = delete;
  FileReader(const FileReader&) = delete;
  ~FileReader();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const;
  // The whole file as text; StartupError above limit_bytes.
  std::string text(std::uint64_t limit_bytes = kTextLimitBytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// Is something there? False only when there is no entry of that name. A link that leads nowhere (an incomplete hub cache)
// or in a circle, or a folder that may not be searched, is a StartupError: such a file was meant to be there.
bool file_present(const std::string& path);

// All of what a user names on the command line: a file, or a pipe.
std::string read_text(const std::string& path, std::uint64_t limit_bytes = kTextLimitBytes);

}  // namespace hearth
