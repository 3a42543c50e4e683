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
constexpr const char* kTekken = AROUND_WORD UPPER "*" LOWER "+|" AROUND_WORD UPPER "+" LOWER
                                                  R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BREAKS_AND_SPACES;
constexpr const char* kSeedCoder =
    CONTRACTIONS R"(|)" AROUND_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" BREAKS_AND_SPACES;
constexpr const char* kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kBloom = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr const char* kCjkRun = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)";
constexpr const char* kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" BREAKS_AND_SPACES;
// Letters that have case.
constexpr const char* kDeepseekWord =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})"
    R"(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139})"
    R"(\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787})"
    R"(\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr const char* kDeepseekCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";

const std::vector<GgufPreTokenizer>& table() {
  static const std::vector<GgufPreTokenizer> rows = {
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
                 "jina-v5-nano"},
       .patterns = {kLlama3},
       .ignore_merges = true,
       .add_bos = true},
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
       .patterns = {R"([\r\n])", kDeepseekWord,
                    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", R"(\s+$)",
                    kDeepseekCjk, R"(\p{N}+)"}},
      {.names = {"deepseek-coder"},
       .patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekCjk, R"(\p{N})"}},
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
