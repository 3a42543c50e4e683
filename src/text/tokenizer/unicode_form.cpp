// NFC, NFD, NFKC, NFKD with utf8proc's tables. utf8proc_map would sort a run of combining marks in quadratic time, so the
// run is sorted here.
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "text/tokenizer/normalizer.h"
#include "text/utf8.h"

namespace hearth {
namespace {

// Characters that neither join what precedes them nor change by themselves when composed or decomposed canonically.
bool is_inert(char32_t c, UnicodeForm form) {
  return c < 0x80 || (c < 0xA0) || (c < 0x300 && form.compose && !form.compatible);
}

// Characters that may change but never join what precedes them: a stretch can begin here.
bool begins_stretch(char32_t c) {
  return c < 0x300 || (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x3041 && c <= 0x3096) ||
         (c >= 0x30A1 && c <= 0x30FA) || (c >= 0xFF01 && c <= 0xFF5E);
}

// Characters of Unicode 10 … 15 with a combining class or a decomposition. Hugging Face's normaliser has the tables of
// Unicode 9, so it takes them for ordinary ones; ids must be those that the models were trained on.
constexpr struct {
  char32_t first, last;
} kAfterUnicode9[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50},
    {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
    {0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943},
    {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42},
    {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

bool is_after_unicode9(char32_t c) {
  if (c < kAfterUnicode9[0].first) return false;
  const auto* range = std::upper_bound(std::begin(kAfterUnicode9), std::end(kAfterUnicode9), c,
                                       [](char32_t code, const auto& r) { return code < r.first; }) -
                      1;
  return c <= range->last;
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
      const bool unknown = is_after_unicode9(first.code);
      bool inert = unknown || is_inert(first.code, form_);
      codes.assign(1, static_cast<utf8proc_int32_t>(first.code));
      while (!unknown && end < s.size()) {
        const Utf8Step step = utf8_step(s, end);
        if (begins_stretch(step.code) || is_after_unicode9(step.code)) break;
        codes.push_back(static_cast<utf8proc_int32_t>(step.code));
        end += step.size;
        inert = false;
      }
      const std::size_t before = made.text.size();
      if (inert)
        made.text.append(s, begin, end - begin);
      else
        append_form(codes, made.text);
      if (!text.marks.empty()) {
        const std::string_view marks = std::string_view(text.marks).substr(begin, end - begin);
        const bool changed =
            std::string_view(made.text).substr(before) != std::string_view(s).substr(begin, end - begin);
        if (changed)
          made.marks.append(made.text.size() - before, any_marked(marks) ? '\1' : '\0');
        else
          made.marks.append(marks);
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
      if (n > 0 && n <= 32)
        apart.insert(apart.end(), buffer, buffer + n);
      else
        apart.push_back(code);
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
    for (utf8proc_ssize_t i = 0; i < length; ++i)
      append_utf8(out, static_cast<char32_t>(apart[static_cast<std::size_t>(i)]));
  }

  UnicodeForm form_;
};

}  // namespace

std::unique_ptr<NormalizerStep> make_unicode_form(UnicodeForm form) { return std::make_unique<Form>(form); }

}  // namespace hearth
