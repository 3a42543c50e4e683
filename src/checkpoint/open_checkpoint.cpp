#include <filesystem>

#include "base/file_reader.h"
#include "base/status.h"
#include "checkpoint/gguf_source.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/weight_source.h"

namespace hearth {

std::unique_ptr<WeightSource> open_checkpoint(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_hf_folder(path);
  if (!file_present(path)) {
    throw StartupError("expected a checkpoint folder or a .gguf file, found nothing there", path, "check the path");
  }
  if (path.ends_with(".gguf")) return open_gguf(path);
  throw StartupError("expected a checkpoint folder or a .gguf file, found another file", path,
                     "give the folder that holds config.json, not a file in it");
}

}  // namespace hearth
