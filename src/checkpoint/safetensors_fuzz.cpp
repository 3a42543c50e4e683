// Any bytes as a .safetensors file: opened and read whole, or refused with a StartupError; nothing else.
#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const hearth::MemoryFile memory(data, size);
  try {
    const hearth::SafetensorsFile file(memory.path());
    for (const hearth::SafetensorsEntry& e : file.tensors()) {
      file.read_bytes(e.name);
      if (hearth::format_info(e.format).is_float_weight) file.read_f32(e.name);
    }
  } catch (const hearth::StartupError&) {
  }
  return 0;
}
