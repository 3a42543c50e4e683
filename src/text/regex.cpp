#include "text/regex.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace hearth {
namespace {

// Longest known pattern of a real tokenizer: 1,300 bytes.
constexpr std::size_t kMaxPatternBytes = 65536;
constexpr std::uint32_t kBaseSteps = 1'000'000;
constexpr std::uint32_t kStepsPerByte = 64;
constexpr std::uint32_t kHeapKiB = 64 * 1024;

// One thread's scratch memory, made at its first search.
struct Scratch {
  Scratch() {
    data = pcre2_match_data_create(1, nullptr);
    context = pcre2_match_context_create(nullptr);
    stack = pcre2_jit_stack_create(32 * 1024, 4 * 1024 * 1024, nullptr);
    pcre2_set_heap_limit(context, kHeapKiB);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

Scratch& scratch() {
  static thread_local Scratch s;
  return s;
}

}  // namespace

struct Regex::Impl {
  pcre2_code* code = nullptr;
  ~Impl() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) : impl_(std::make_unique<Impl>()) {
  const std::string translated = translate_pattern(pattern);
  if (translated.size() > kMaxPatternBytes)
    throw RegexError(fmt::format("a pattern of {} bytes; at most {} are allowed", translated.size(), kMaxPatternBytes));
  int error = 0;
  std::size_t offset = 0;
  // Oniguruma's ^ and $ are always those of a line, and only \n ends one.
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  impl_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, context.get());
  if (!impl_->code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    throw RegexError(fmt::format("{} (near byte {} of {})", reinterpret_cast<const char*>(text), offset, translated));
  }
  pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE);  // where it fails, pcre2_match interprets
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::optional<ByteRange> Regex::find(std::string_view subject, std::size_t from) const {
  Scratch& s = scratch();
  const std::uint64_t limit = kBaseSteps + std::uint64_t{kStepsPerByte} * subject.size();
  pcre2_set_match_limit(s.context, static_cast<std::uint32_t>(limit < 0xFFFFFFFFu ? limit : 0xFFFFFFFFu));
  const auto* text = reinterpret_cast<PCRE2_SPTR>(subject.data() ? subject.data() : "");
  // The UTF check would look at the whole subject each time.
  int rc = pcre2_match(impl_->code, text, subject.size(), from, PCRE2_NO_UTF_CHECK, s.data, s.context);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(impl_->code, text, subject.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s.data, s.context);
  if (rc < 0) return std::nullopt;
  const std::size_t* ends = pcre2_get_ovector_pointer(s.data);
  if (ends[0] > ends[1] || ends[0] < from) return std::nullopt;  // \K in a look-around
  return ByteRange{ends[0], ends[1]};
}

}  // namespace hearth
