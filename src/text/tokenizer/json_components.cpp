#include "text/tokenizer/json_components.h"

#include <fmt/format.h>

#include "text/tokenizer/pipeline.h"
#include "text/utf8.h"

namespace hearth {
namespace {

constexpr int kMaxDepth = 16;  // Sequences within Sequences; one is usual

// {"String": "…"} or {"Regex": "…"}, or the string itself.
struct Pattern {
  std::string literal;
  std::optional<Regex> regex;
};

Pattern read_pattern(const JsonPart& part) {
  Pattern p;
  if (part.value().is_string()) {
    p.literal = part.text();
  } else if (part.has("String")) {
    p.literal = part.at("String").text();
  } else if (part.has("Regex")) {
    const JsonPart regex = part.at("Regex");
    try {
      p.regex.emplace(regex.text());
    } catch (const RegexError& e) {
      regex.fail(e.what());
    }
  } else {
    part.fail("expected {\"String\": …} or {\"Regex\": …}");
  }
  return p;
}

std::unique_ptr<PreTokenizerStep> split_by(const char* pattern, SplitBehavior behavior, bool invert = false) {
  return make_split(Regex(pattern), behavior, invert);
}

void add_normalizer(const JsonPart& part, Normalizer& out, int depth) {
  if (part.is_null()) return;
  const std::string type = part.type();
  if (type == "Sequence") {
    if (depth == kMaxDepth) part.fail("nested too deep");
    const JsonPart list = part.at("normalizers");
    for (std::size_t i = 0; i < list.size(); ++i) add_normalizer(list.item(i), out, depth + 1);
  } else if (type == "NFC") {
    out.push_back(make_unicode_form({true, false}));
  } else if (type == "NFD") {
    out.push_back(make_unicode_form({false, false}));
  } else if (type == "NFKC") {
    out.push_back(make_unicode_form({true, true}));
  } else if (type == "NFKD") {
    out.push_back(make_unicode_form({false, true}));
  } else if (type == "Prepend") {
    out.push_back(make_prepend(part.at("prepend").text()));
  } else if (type == "Strip") {
    out.push_back(make_strip(part.flag("strip_left", true), part.flag("strip_right", true)));
  } else if (type == "Replace") {
    Pattern p = read_pattern(part.at("pattern"));
    std::string content = part.at("content").text();
    out.push_back(p.regex ? make_replace(*std::move(p.regex), std::move(content))
                          : make_replace(std::move(p.literal), std::move(content)));
  } else if (type == "ByteLevel") {
    out.push_back(make_byte_alphabet());
  } else {
    part.at("type").fail(
        fmt::format("normalizer \"{}\" is not offered; known are Sequence, NFC, NFD, NFKC, NFKD, Prepend, Strip, "
                    "Replace, ByteLevel",
                    type));
  }
}

SplitBehavior read_behavior(const JsonPart& part) {
  const std::string name = part.text();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  part.fail(fmt::format(
      "\"{}\" is no behavior; expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", name));
}

std::unique_ptr<PreTokenizerStep> read_metaspace(const JsonPart& part) {
  PrependScheme prepend = part.flag("add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
  if (part.has("prepend_scheme")) {
    const JsonPart scheme = part.at("prepend_scheme");
    const std::string name = scheme.text();
    if (name == "always")
      prepend = PrependScheme::always;
    else if (name == "never")
      prepend = PrependScheme::never;
    else if (name == "first")
      prepend = PrependScheme::first;
    else
      scheme.fail(fmt::format("expected always, never or first, found \"{}\"", name));
  }
  return make_metaspace(part.at("replacement").text(), prepend, part.flag("split", true));
}

void add_pre_tokenizer(const JsonPart& part, JsonPreTokenizer& out, int depth) {
  if (part.is_null()) return;
  const std::string type = part.type();
  // A step after "ByteLevel" sees its letters.
  if (type != "Sequence" && out.raw_bytes) {
    out.steps.push_back(make_byte_letters());
    out.raw_bytes = false;
  }
  using enum SplitBehavior;
  if (type == "Sequence") {
    if (depth == kMaxDepth) part.fail("nested too deep");
    const JsonPart list = part.at("pretokenizers");
    for (std::size_t i = 0; i < list.size(); ++i) add_pre_tokenizer(list.item(i), out, depth + 1);
  } else if (type == "ByteLevel") {
    if (part.flag("add_prefix_space", true)) out.steps.push_back(make_prefix_space());
    if (part.flag("use_regex", true)) out.steps.push_back(split_by(kGpt2Pattern, isolated));
    out.raw_bytes = true;
  } else if (type == "Split") {
    Pattern p = read_pattern(part.at("pattern"));
    const SplitBehavior behavior = read_behavior(part.at("behavior"));
    const bool invert = part.flag("invert", false);
    out.steps.push_back(p.regex ? make_split(*std::move(p.regex), behavior, invert)
                                : make_literal_split(std::move(p.literal), behavior, invert));
  } else if (type == "Digits") {
    out.steps.push_back(split_by("\\p{N}", part.flag("individual_digits", false) ? isolated : contiguous));
  } else if (type == "Punctuation") {
    out.steps.push_back(
        split_by("[\\p{P}!-/:-@\\[-`{-~]", part.has("behavior") ? read_behavior(part.at("behavior")) : isolated));
  } else if (type == "Whitespace") {
    out.steps.push_back(split_by("[\\w\\x{200C}\\x{200D}]+|[^\\w\\s\\x{200C}\\x{200D}]+", removed, true));
  } else if (type == "WhitespaceSplit") {
    out.steps.push_back(split_by("\\s", removed));
  } else if (type == "BertPreTokenizer") {
    out.steps.push_back(split_by("\\s", removed));
    out.steps.push_back(split_by("[\\p{P}!-/:-@\\[-`{-~]", isolated));
  } else if (type == "CharDelimiterSplit") {
    out.steps.push_back(make_literal_split(part.at("delimiter").text(), removed, false));
  } else if (type == "Metaspace") {
    out.steps.push_back(read_metaspace(part));
  } else {
    part.at("type").fail(
        fmt::format("pre-tokenizer \"{}\" is not offered; known are Sequence, ByteLevel, Split, Digits, "
                    "Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit, Metaspace",
                    type));
  }
}

void set_strip(const JsonPart& part, TokenDecoder& out, std::string content) {
  if (!out.strip.empty()) part.fail("a second strip at the start of the text is not offered");
  out.strip = std::move(content);
  out.strip_count = 1;
}

// fused: the tokens have been joined, so what follows sees the whole text.
void add_decoder(const JsonPart& part, TokenDecoder& out, bool& fused, int depth) {
  const std::string type = part.type();
  if (type == "Sequence") {
    if (depth == kMaxDepth) part.fail("nested too deep");
    const JsonPart list = part.at("decoders");
    for (std::size_t i = 0; i < list.size(); ++i) add_decoder(list.item(i), out, fused, depth + 1);
    return;
  }
  if (type == "Fuse") {
    fused = true;
    return;
  }
  if (fused && type != "Strip") part.at("type").fail(fmt::format("\"{}\" after \"Fuse\" is not offered", type));
  if (type == "ByteLevel") {
    out.steps.emplace_back(decode_byte_letters);
  } else if (type == "ByteFallback") {
    out.steps.emplace_back(decode_byte_fallback);
  } else if (type == "Replace") {
    const Pattern p = read_pattern(part.at("pattern"));
    if (p.regex) part.at("pattern").fail("a Regex in a decoder is not offered");
    const std::string content = part.at("content").text();
    out.steps.emplace_back(
        [from = p.literal, content](std::string t) { return replace_all(std::move(t), from, content); });
  } else if (type == "Metaspace") {
    const std::string replacement = part.at("replacement").text();
    out.steps.emplace_back([replacement](std::string t) { return replace_all(std::move(t), replacement, " "); });
    const bool prefixed =
        part.has("prepend_scheme") ? part.at("prepend_scheme").text() != "never" : part.flag("add_prefix_space", true);
    if (prefixed) set_strip(part, out, " ");
  } else if (type == "Strip") {
    const std::string content = part.at("content").text();
    const std::int64_t start = part.at("start").integer(), stop = part.at("stop").integer();
    if (start < 0 || stop < 0 || (fused && (start > 1 || stop > 0)))
      part.fail(fmt::format("start {} and stop {} are not offered here; expected 0 or 1 and 0", start, stop));
    if (fused) {
      if (start == 1) set_strip(part, out, content);
    } else {
      out.steps.emplace_back([=](std::string t) {
        return strip_token(std::move(t), content, static_cast<std::size_t>(start), static_cast<std::size_t>(stop));
      });
    }
  } else {
    part.at("type").fail(
        fmt::format("decoder \"{}\" is not offered; known are Sequence, ByteLevel, ByteFallback, Replace, "
                    "Metaspace, Fuse, Strip",
                    type));
  }
}

std::int32_t read_id(const JsonPart& part) {
  const std::int64_t id = part.integer();
  if (id < 0 || id > kMaxTokenId) part.fail(fmt::format("{} is no token id (0 … {})", id, kMaxTokenId));
  return static_cast<std::int32_t>(id);
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [1]}}}
void add_template(const JsonPart& part, JsonPostProcessor& out) {
  const JsonPart single = part.at("single");
  std::vector<std::int32_t>* side = &out.before;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const JsonPart piece = single.item(i);
    if (piece.has("Sequence")) {
      if (side == &out.after) piece.fail("the text may occur only once");
      side = &out.after;
      continue;
    }
    const std::string name = piece.at("SpecialToken").at("id").text();
    const JsonPart ids = part.at("special_tokens").at(name.c_str()).at("ids");
    for (std::size_t k = 0; k < ids.size(); ++k) side->push_back(read_id(ids.item(k)));
  }
  if (side == &out.before) single.fail("no {\"Sequence\": …} in it");
}

void add_post_processor(const JsonPart& part, JsonPostProcessor& out, int depth) {
  if (part.is_null()) return;
  const std::string type = part.type();
  if (type == "Sequence") {
    if (depth == kMaxDepth) part.fail("nested too deep");
    const JsonPart list = part.at("processors");
    for (std::size_t i = 0; i < list.size(); ++i) add_post_processor(list.item(i), out, depth + 1);
  } else if (type == "TemplateProcessing") {
    JsonPostProcessor here;
    add_template(part, here);
    out.before.insert(out.before.begin(), here.before.begin(), here.before.end());
    out.after.insert(out.after.end(), here.after.begin(), here.after.end());
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const auto id_of = [&](const char* key) {
      const JsonPart pair = part.at(key);
      if (pair.size() != 2) pair.fail("expected [token, id]");
      return read_id(pair.item(1));
    };
    out.before.insert(out.before.begin(), id_of("cls"));
    out.after.push_back(id_of("sep"));
  } else if (type != "ByteLevel") {  // ByteLevel moves offsets only
    part.at("type").fail(
        fmt::format("post-processor \"{}\" is not offered; known are Sequence, TemplateProcessing, "
                    "BertProcessing, RobertaProcessing, ByteLevel",
                    type));
  }
}

}  // namespace

Normalizer read_normalizer(const JsonPart& part) {
  Normalizer out;
  add_normalizer(part, out, 0);
  return out;
}

JsonPreTokenizer read_pre_tokenizer(const JsonPart& part) {
  JsonPreTokenizer out;
  add_pre_tokenizer(part, out, 0);
  return out;
}

TokenDecoder read_decoder(const JsonPart& part) {
  if (part.is_null()) part.fail("without a decoder, tokens cannot become text; expected ByteLevel or a Sequence");
  TokenDecoder out;
  bool fused = false;
  add_decoder(part, out, fused, 0);
  return out;
}

JsonPostProcessor read_post_processor(const JsonPart& part) {
  JsonPostProcessor out;
  add_post_processor(part, out, 0);
  return out;
}

}  // namespace hearth
