// NFC, NFD, NFKC, NFKD with utf8proc's tables. utf8proc_map would sort a run of combining marks in quadratic time, so the
// run is sorted here.
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/tokenizer/normalizer.h"
#include "text/utf8.h"

namespace hearth {
namespace {

// Characters that neither join what precedes them nor change by themselves when composed or decomposed canonically.
bool is_inert(char32_t c, UnicodeForm form) { return c < 0x80 || (c < 0xA0) || (c < 0x300 && form.compose && !form.compatible); }

// Characters that may change but never join what precedes them: a stretch can begin here.
bool begins_stretch(char32_t c) {
  return c < 0x300 || (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x3041 && c <= 0x3096) ||
         (c >= 0x30A1 && c <= 0x30FA) || (c >= 0xFF01 && c <= 0xFF5E);
}

class Form final : public NormalizerStep {
 public:
  explicit Form(UnicodeForm form) : form_(form) {}

  void apply(NormalText& text) const override {
    if (is_ascii(text.text)) return;
    NormalText made;
    made.text.reserve(text.text.size());
    const std::string& s = text.text;
    std::vector<utf8proc_int32_t> codes;
    for (std::size_t begin = 0; begin < s.size();) {
      const Utf8Step first = utf8_step(s, begin);
      std::size_t end = begin + first.size;
      bool inert = is_inert(first.code, form_);
      codes.assign(1, static_cast<utf8proc_int32_t>(first.code));
      while (end < s.size()) {
        const Utf8Step step = utf8_step(s, end);
        if (begins_stretch(step.code)) break;
        codes.push_back(static_cast<utf8proc_int32_t>(step.code));
        end += step.size;
        inert = false;
      }
      const std::size_t before = made.text.size();
      if (inert) made.text.append(s, begin, end - begin);
      else append_form(codes, made.text);
      if (!text.marks.empty()) {
        const bool marked = text.marks.find('\1', begin) < end;
        made.marks.append(made.text.size() - before, marked ? '\1' : '\0');
      }
      begin = end;
    }
    text = std::move(made);
  }

 private:
  void append_form(const std::vector<utf8proc_int32_t>& codes, std::string& out) const {
    const int compat = form_.compatible ? static_cast<int>(UTF8PROC_COMPAT) : 0;
    std::vector<utf8proc_int32_t> apart;
    utf8proc_int32_t buffer[32];
    int boundary = 0;
    for (const utf8proc_int32_t code : codes) {
      const utf8proc_ssize_t n = utf8proc_decompose_char(
          code, buffer, 32, static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | compat), &boundary);
      if (n > 0 && n <= 32) apart.insert(apart.end(), buffer, buffer + n);
      else apart.push_back(code);
    }
    const auto order = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (std::size_t i = 0; i < apart.size();) {
      std::size_t end = i;
      while (end < apart.size() && order(apart[end]) != 0) ++end;
      std::stable_sort(apart.begin() + static_cast<std::ptrdiff_t>(i), apart.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](utf8proc_int32_t a, utf8proc_int32_t b) { return order(a) < order(b); });
      i = end + 1;
    }
    auto length = static_cast<utf8proc_ssize_t>(apart.size());
    if (form_.compose)
      length = utf8proc_normalize_utf32(apart.data(), length,
                                        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < length; ++i) append_utf8(out, static_cast<char32_t>(apart[static_cast<std::size_t>(i)]));
  }

  UnicodeForm form_;
};

}  // namespace

std::unique_ptr<NormalizerStep> make_unicode_form(UnicodeForm form) { return std::make_unique<Form>(form); }

}  // namespace hearth
