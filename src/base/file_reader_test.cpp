#include "base/file_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/status.h"

namespace hearth {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const StartupError& e) {
    return e.what();
  }
  return {};
}

TEST(FilePresent, AbsentIsNoErrorAndABrokenLinkIs) {
  const Folder folder;
  std::ofstream(folder / "there") << "text";
  ASSERT_EQ(::symlink("there", (folder / "link").c_str()), 0);
  ASSERT_EQ(::symlink("blobs/1", (folder / "broken").c_str()), 0);
  ASSERT_EQ(::symlink("circle", (folder / "circle").c_str()), 0);
  EXPECT_TRUE(file_present(folder / "there"));
  EXPECT_TRUE(file_present(folder / "link"));
  EXPECT_FALSE(file_present(folder / "absent"));
  EXPECT_FALSE(file_present(folder / "there/below a file"));
  EXPECT_EQ(error_of([&] { (void)file_present(folder / "broken"); }), "a link to 'blobs/1', where nothing is");
  EXPECT_NE(error_of([&] { (void)file_present(folder / "circle"); }).find("symbolic links"), std::string::npos);
}

TEST(FileReader, FoldersAndPipesAreRefusedAtOnce) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { FileReader reader(folder / "pipe"); }), "expected a regular file");
  EXPECT_EQ(error_of([&] { FileReader reader(folder / "."); }), "expected a regular file, found a folder");
  EXPECT_EQ(error_of([&] { FileReader reader(folder / "none"); }), "cannot open the file: No such file or directory");
}

TEST(ReadText, WholeFilesUpToALimit) {
  const Folder folder;
  std::ofstream(folder / "f") << std::string(100000, 'x');
  EXPECT_EQ(read_text(folder / "f"), std::string(100000, 'x'));
  EXPECT_EQ(read_text(folder / "f", 100000).size(), 100000u);
  EXPECT_EQ(error_of([&] { (void)read_text(folder / "f", 99999); }), "expected at most 99999 bytes, found more");
  EXPECT_EQ(error_of([&] { (void)read_text(folder / "."); }), "cannot read the file: Is a directory");
}

}  // namespace
}  // namespace hearth
