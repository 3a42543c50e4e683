// file_reader.h — bytes of one file at given offsets.
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
  std::string text(std::uint64_t limit_bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace hearth
