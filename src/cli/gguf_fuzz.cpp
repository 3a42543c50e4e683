// gguf_fuzz — any bytes as a .gguf file: read as it stands, presented as the Hugging Face checkpoint it was made from with
// every weight read, and its vocabulary set to work; or refused with a StartupError; nothing else.
#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/status.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_source.h"
#include "checkpoint/testing/memory_file.h"
#include "cli/gguf_vocab.h"
#include "text/testing/round_trip.h"

namespace {

template <class F>
void or_refused(F f) {
  try {
    f();
  } catch (const hearth::StartupError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth;
  [[maybe_unused]] static const bool quiet = (set_log_level(LogLevel::error), true);
  static const std::string text = [] {
    std::string s = "a<s> b\xC3\xA9 hello 12 ";
    for (int i = 0; i < 60; ++i) s += "hello";  // long pieces are merged in another way
    return s;
  }();
  const MemoryFile memory(data, size);
  or_refused([&] {
    const GgufFile file(memory.path());
    for (const GgufTensor& t : file.tensors())
      or_refused([&] {
        if (format_info(t.format).is_float_weight) file.read_f32(t);
      });
    testing::round_trip(*make_tokenizer(read_gguf_vocab(file)), text);
  });
  or_refused([&] {
    const std::unique_ptr<WeightSource> source = open_gguf(memory.path());
    for (const SourceTensor& t : source->tensors()) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
      source->read(t, bytes);
      if (t.shape.size() != 2 || t.name.find("norm") != std::string::npos || t.name.ends_with("A_log")) continue;
      std::vector<std::byte> row(bytes.size() / static_cast<std::size_t>(t.shape[0]));  // matrices can be read by rows
      source->read_range(t, t.bytes - static_cast<std::int64_t>(row.size()), row);
      HEARTH_CHECK(std::equal(row.rbegin(), row.rend(), bytes.rbegin()));
    }
  });
  return 0;
}
