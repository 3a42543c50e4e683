// Any bytes as a .gguf file: opened, presented and read whole, or refused with a StartupError; nothing else.
#include "base/status.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_source.h"
#include "checkpoint/testing/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const hearth::MemoryFile memory(data, size);
  try {
    const std::unique_ptr<hearth::WeightSource> source = hearth::open_gguf(memory.path());
    for (const hearth::SourceTensor& t : source->tensors()) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
      source->read(t, bytes);
    }
  } catch (const hearth::StartupError&) {
  }
  return 0;
}
