// safetensors_writer.cpp — for tests and conversions.
#include <fmt/format.h>

#include <fstream>

#include "base/check.h"
#include "base/json.h"
#include "base/status.h"
#include "checkpoint/safetensors.h"

namespace hearth {

void write_safetensors(const std::string& path, const std::vector<SafetensorsTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t end = 0;
  for (const SafetensorsTensor& t : tensors) {
    HEARTH_CHECK(!safetensors_dtype(t.format).empty());
    header[t.name] =
        Json{{"dtype", safetensors_dtype(t.format)}, {"shape", t.shape}, {"data_offsets", {end, end + t.data.size()}}};
    end += t.data.size();
  }
  std::string json = dump_json(header);
  json.resize((json.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8

  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i));
  out.write(length, 8);
  out.write(json.data(), static_cast<std::streamsize>(json.size()));
  for (const SafetensorsTensor& t : tensors) {
    out.write(reinterpret_cast<const char*>(t.data.data()), static_cast<std::streamsize>(t.data.size()));
  }
  out.close();
  if (!out) throw StartupError("writing the file failed", path, "check the space on the disk and the permissions");
}

}  // namespace hearth
