#include "cli/resolve_model.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/args.h"
#include "base/file_reader.h"
#include "base/status.h"

namespace hearth {
namespace fs = std::filesystem;
namespace {

bool is_gguf(const fs::path& p) { return p.extension() == ".gguf"; }

// marker: the file that makes a folder one of ours.
std::string in_folder(const fs::path& dir, const char* marker) {
  if (file_present((dir / marker).string())) return dir.string();
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (is_gguf(entry.path()) && !entry.path().filename().string().starts_with("mmproj"))
      files.push_back(entry.path().string());
  if (error) throw StartupError("cannot read the folder: " + error.message(), dir.string(), "check its permissions");
  std::sort(files.begin(), files.end());
  if (files.size() == 1) return files[0];
  if (files.empty())
    throw StartupError(std::string("the folder holds neither ") + marker + " nor a .gguf file", dir.string(),
                       "give the folder of a Hugging Face checkpoint, or a .gguf file");
  std::string list;
  for (const std::string& f : files) list += (list.empty() ? "" : ", ") + fs::path(f).filename().string();
  throw StartupError("the folder holds several .gguf files: " + list, dir.string(), "name one of them");
}

// org/name or name, of the characters the hub allows.
bool looks_like_hub_id(const std::string& model) {
  if (model.empty() || model[0] == '/' || model[0] == '.' || model[0] == '~') return false;
  return std::count(model.begin(), model.end(), '/') <= 1 && model.back() != '/' && !is_gguf(model) &&
         std::all_of(model.begin(), model.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/'; });
}

std::string in_cache(const std::string& id, const std::string& revision, const std::string& cache_dir,
                     const char* marker) {
  std::string folder = "models--" + id;
  for (std::size_t at = folder.find('/'); at != std::string::npos; at = folder.find('/', at))
    folder.replace(at, 1, "--");
  const fs::path root = fs::path(cache_dir) / folder;
  std::error_code error;
  if (!file_present(root.string()))
    throw StartupError(
        "'" + id + "' is neither a path nor in the hub cache", cache_dir,
        "give a folder or a .gguf file; downloading is not offered yet, so fetch the model with another tool first");
  std::string commit = revision;
  if (const fs::path ref = root / "refs" / revision; fs::is_regular_file(ref, error)) {
    commit = FileReader(ref.string()).text(4096);
    commit.resize(std::min(commit.size(), commit.find_first_of(" \r\n")));
    if (commit.empty())
      throw StartupError("expected a commit, found an empty file", ref.string(), "fetch the model again");
  }
  const fs::path snapshot = root / "snapshots" / commit;
  if (!fs::is_directory(snapshot, error)) {
    std::string list;
    for (const auto& entry : fs::directory_iterator(root / "refs", error))
      list += (list.empty() ? "" : ", ") + entry.path().filename().string();
    throw StartupError("'" + id + "' has no revision '" + revision + "' in the hub cache", root.string(),
                       list.empty() ? "fetch the model with another tool first" : "revisions there: " + list);
  }
  return in_folder(snapshot, marker);
}

std::string resolve(const std::string& model, const std::string& revision, const std::string& cache_dir,
                    const char* marker) {
  std::error_code error;
  if (fs::is_directory(model, error)) return in_folder(model, marker);
  if (file_present(model)) {
    if (is_gguf(model)) return model;
    throw StartupError("the file is no .gguf file", model,
                       std::string("give a folder with ") + marker + ", or a .gguf file");
  }
  if (!looks_like_hub_id(model))
    throw StartupError("no such file or folder", model, "check the path; hub ids look like org/name");
  return in_cache(model, revision.empty() ? "main" : revision, cache_dir.empty() ? hub_cache_dir() : cache_dir, marker);
}

}  // namespace

std::string hub_cache_dir() {
  if (auto dir = env_value("HF_HUB_CACHE")) return *dir;
  if (auto dir = env_value("HF_HOME")) return *dir + "/hub";
  if (auto dir = env_value("XDG_CACHE_HOME")) return *dir + "/huggingface/hub";
  return env_value("HOME").value_or("/root") + "/.cache/huggingface/hub";
}

std::string resolve_model(const std::string& model, const std::string& revision, const std::string& cache_dir) {
  return resolve(model, revision, cache_dir, "config.json");
}

std::string resolve_tokenizer(const std::string& tokenizer, const std::string& revision, const std::string& cache_dir) {
  return resolve(tokenizer, revision, cache_dir, "tokenizer.json");
}

}  // namespace hearth
