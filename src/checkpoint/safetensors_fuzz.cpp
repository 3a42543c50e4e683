// safetensors_fuzz — any bytes as a .safetensors file, or as the files of a checkpoint folder: opened and read whole, or
// refused with a StartupError; nothing else.
//
// Input     one file; or, cut at each kBetween: config.json, model.safetensors.index.json (empty: none), and then for each
//           shard a.safetensors, b.safetensors, … its header's text, which gets its length before it and data behind it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/fp8_scales.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing/memory_file.h"
#include "checkpoint/testing/temp_dir.h"
#include "checkpoint/weight_source.h"

namespace {

using namespace hearth;

constexpr std::string_view kBetween = "\n%%\n";
constexpr std::size_t kShards = 3, kMostData = 1 << 16;

template <class F>
void or_refused(F f) {
  try {
    f();
  } catch (const StartupError&) {
  }
}

void read_file_whole(const std::string& path) {
  const SafetensorsFile file(path);
  for (const SafetensorsEntry& e : file.tensors()) {
    file.read_bytes(e.name);
    or_refused([&] { file.read_f32(e.name); });
    or_refused([&] { file.read_i64(e.name); });
  }
}

// As many bytes of data as the header asks for.
std::size_t data_bytes(std::string_view header) {
  std::size_t end = 0;
  const Result<Json> parsed = parse_json(header);
  if (parsed && parsed->is_object())
    for (const auto& [name, entry] : parsed->items())
      if (entry.is_object() && entry.contains("data_offsets") && entry["data_offsets"].is_array())
        for (const Json& n : entry["data_offsets"])
          if (n.is_number_unsigned() && n.get<std::size_t>() <= kMostData) end = std::max(end, n.get<std::size_t>());
  return end;
}

std::string shard(std::string_view header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(i < 4 ? header.size() >> (8 * i) & 255 : 0));
  file += header;
  for (std::size_t n = data_bytes(header); n > 0; --n) file.push_back(static_cast<char>(n * 37));
  return file;
}

void read_folder_whole(const std::vector<std::string_view>& parts) {
  static const TempDir folder;
  const auto put = [](const std::string& name, bool there, const std::string& bytes) {
    std::error_code ignored;
    if (there)
      write_file(folder / name, bytes);
    else
      std::filesystem::remove(folder / name, ignored);
  };
  put("config.json", true, std::string(parts[0]));
  put("model.safetensors.index.json", !parts[1].empty(), std::string(parts[1]));
  for (std::size_t i = 0; i < kShards; ++i) {
    const bool there = i + 2 < parts.size();
    put(std::string(1, static_cast<char>('a' + i)) + ".safetensors", there, there ? shard(parts[i + 2]) : "");
  }
  const std::unique_ptr<WeightSource> source = open_checkpoint(folder.path());
  for (const SourceTensor& t : source->tensors()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
    source->read(t, bytes);
    source->where(t);
    if (t.format == Format::f8_e4m3) or_refused([&] { read_fp8_scales(*source, t); });
  }
  const Json& config = text_config(source->config());
  or_refused([&] { rope_parameters(config); });
  or_refused([&] { get_count(config, "hidden_size"); });
  or_refused([&] { get_num_experts(config); });
  or_refused([&] { get_double(config, "rms_norm_eps", 1e-6); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = all.find(kBetween, at);
    parts.push_back(all.substr(at, end == std::string_view::npos ? end : end - at));
    at = end == std::string_view::npos ? end : end + kBetween.size();
  }
  or_refused([&] {
    if (parts.size() == 1)
      read_file_whole(MemoryFile(data, size).path());
    else
      read_folder_whole(parts);
  });
  return 0;
}
