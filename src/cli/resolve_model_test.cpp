#include "cli/resolve_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"

namespace hearth {
namespace fs = std::filesystem;
namespace {

class ResolveModel : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "hearth_resolve";
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& file, const std::string& text = "x") {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::string error_of(const std::string& model, const std::string& revision = {}) {
    try {
      resolve_model(model, revision, (root_ / "hub").string());
    } catch (const StartupError& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return "no error";
  }
  fs::path root_;
};

TEST_F(ResolveModel, FoldersAndFiles) {
  put("a/config.json", "{}");
  put("b/one.gguf");
  put("b/mmproj-one.gguf");
  put("c/one.gguf");
  put("c/two.gguf");
  put("d/readme");
  EXPECT_EQ(resolve_model((root_ / "a").string()), (root_ / "a").string());
  EXPECT_EQ(resolve_model((root_ / "b").string()), (root_ / "b/one.gguf").string());
  EXPECT_EQ(resolve_model((root_ / "b/one.gguf").string()), (root_ / "b/one.gguf").string());
  EXPECT_EQ(error_of((root_ / "c").string()),
            "the folder holds several .gguf files: one.gguf, two.gguf | name one of them");
  EXPECT_NE(error_of((root_ / "d").string()).find("neither config.json nor a .gguf"), std::string::npos);
  EXPECT_NE(error_of((root_ / "d/readme").string()).find("no .gguf file"), std::string::npos);
  EXPECT_NE(error_of("/no/such/path").find("no such file or folder"), std::string::npos);
}

TEST_F(ResolveModel, HubCache) {
  put("hub/models--org--name/refs/main", "abc123");
  put("hub/models--org--name/refs/v2", "def456\n");
  put("hub/models--org--name/snapshots/abc123/config.json", "{}");
  put("hub/models--org--name/snapshots/def456/config.json", "{}");
  const std::string hub = (root_ / "hub").string();
  EXPECT_EQ(resolve_model("org/name", "", hub), hub + "/models--org--name/snapshots/abc123");
  EXPECT_EQ(resolve_model("org/name", "v2", hub), hub + "/models--org--name/snapshots/def456");
  EXPECT_EQ(resolve_model("org/name", "def456", hub), hub + "/models--org--name/snapshots/def456");
  EXPECT_NE(error_of("org/name", "nope").find("has no revision 'nope'"), std::string::npos);
  EXPECT_NE(error_of("org/other").find("downloading is not offered yet"), std::string::npos);
}

}  // namespace
}  // namespace hearth
