#include "text/tokenizer/gguf_pre_tokenizers.h"

#include <algorithm>

#include "text/tokenizer/pre_tokenizer.h"

// The parts that most patterns share.
#define CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define BREAKS_AND_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define AROUND_WORD R"([^\r\n\p{L}\p{N}]?)"

namespace hearth {
namespace {

constexpr const char* kLlama3 =
    CONTRACTIONS R"(|)" AROUND_WORD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" BREAKS_AND_SPACES;
constexpr const char* kQwen2 =
    CONTRACTIONS R"(|)" AROUND_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" BREAKS_AND_SPACES;
constexpr const char* kQwen35 =
    CONTRACTIONS R"(|)" AROUND_WORD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" BREAKS_AND_SPACES;
constexpr const char* kGpt4o =
    AROUND_WORD UPPER "*" LOWER "+" CONTRACTIONS "?|" AROUND_WORD UPPER "+" LOWER "*" CONTRACTIONS
    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BREAKS_AND_SPACES;
constexpr const char* kTekken =
    AROUND_WORD UPPER "*" LOWER "+|" AROUND_WORD UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BREAKS_AND_SPACES;
constexpr const char* kSeedCoder =
    CONTRACTIONS R"(|)" AROUND_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" BREAKS_AND_SPACES;
constexpr const char* kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char* kCjkRun = R"([一-龥぀-ゟ゠-ヿ]+)";
constexpr const char* kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    BREAKS_AND_SPACES;
// Letters that have case.
constexpr const char* kDeepseekWord =
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)";
constexpr const char* kDeepseekCjk = R"([一-龥ࠀ-一가-퟿]+)";

const std::vector<GgufPreTokenizer>& table() {
  static const std::vector<GgufPreTokenizer> rows = {
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
       .patterns = {kLlama3}, .ignore_merges = true, .add_bos = true},
      {.names = {"smaug-bpe", "dbrx", "chatglm-bpe"}, .patterns = {kLlama3}},
      {.names = {"glm4", "glm5"}, .patterns = {kLlama3}, .ignore_merges = true},
      {.names = {"qwen2", "megrez"}, .patterns = {kQwen2}, .nfc = true},
      {.names = {"deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "solar-open", "grok-2"}, .patterns = {kQwen2}},
      {.names = {"stablelm2"}, .patterns = {kQwen2}, .nfc = true},
      {.names = {"qwen35"}, .patterns = {kQwen35}, .nfc = true},
      {.names = {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum",
                 "modern-bert", "exaone4", "jais", "trillion", "granite-docling"},
       .patterns = {kGpt2Pattern}},
      {.names = {"mpt", "olmo"}, .patterns = {kGpt2Pattern}, .nfc = true},
      {.names = {"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
       .patterns = {R"(\p{N})", kGpt2Pattern}},
      {.names = {"command-r"}, .patterns = {R"(\p{N})", kGpt2Pattern}, .nfc = true},
      {.names = {"falcon"}, .patterns = {R"([\p{P}$+<=>^~|`]+)", kGpt2Pattern, "[0-9][0-9][0-9]"}},
      {.names = {"default"}, .patterns = {R"([\p{P}$+<=>^~|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {.names = {"deepseek-llm"},
       .patterns = {R"([\r\n])", kDeepseekWord, R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)", R"(\s+$)", kDeepseekCjk, R"(\p{N}+)"}},
      {.names = {"deepseek-coder"}, .patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekCjk, R"(\p{N})"}},
      {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm"}, .patterns = {R"(\p{N}{1,3})", kCjkRun, kDeepseek3}},
      {.names = {"tekken"}, .patterns = {kTekken}, .ignore_merges = true, .add_bos = true},
      {.names = {"gpt-4o", "llama4", "kanana2", "minimax-m2"}, .patterns = {kGpt4o}},
      {.names = {"bailingmoe", "bailingmoe2", "llada-moe"}, .patterns = {kBailing}},
      {.names = {"seed-coder"}, .patterns = {kSeedCoder}},
      {.names = {"bloom", "poro-chat", "gpt3-finnish"}, .patterns = {kBloom}},
      {.names = {"viking"}, .patterns = {kBloom, R"(\p{N})"}},
  };
  return rows;
}

}  // namespace

std::span<const GgufPreTokenizer> gguf_pre_tokenizers() { return table(); }

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  for (const GgufPreTokenizer& row : table())
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return &row;
  return nullptr;
}

}  // namespace hearth
