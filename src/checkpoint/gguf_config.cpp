// gguf_config.cpp — GGUF metadata as config.json and generation_config.json.
#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "checkpoint/gguf_arch.h"

namespace hearth {
namespace {

// Products of two such numbers stay far inside 64 bits.
constexpr std::int64_t kMostOfAnything = 1 << 30;

// The keys of one architecture ("llama.block_count"), and the file for messages.
class Keys {
 public:
  Keys(const GgufFile& file, std::string_view arch) : file_(file), prefix_(std::string(arch) + ".") {}

  std::int64_t need(std::string_view key, std::int64_t low = 1) const {
    return bounded(key, scalar(key, true).value(), low);
  }
  std::int64_t get(std::string_view key, std::int64_t fallback, std::int64_t low = 1) const {
    const std::optional<std::int64_t> v = scalar(key, false);
    return v ? bounded(key, *v, low) : fallback;
  }
  bool has(std::string_view key) const { return file_.find(prefix_ + std::string(key)) != nullptr; }
  double need_number(std::string_view key) const { return file_.need_double(prefix_ + std::string(key)); }
  double number(std::string_view key, double fallback) const {
    return file_.get_double(prefix_ + std::string(key)).value_or(fallback);
  }
  std::string text(std::string_view key, const char* fallback) const {
    return file_.get_string(prefix_ + std::string(key)).value_or(fallback);
  }
  std::optional<std::vector<std::int64_t>> ints(std::string_view key) const {
    return file_.get_ints(prefix_ + std::string(key));
  }

  [[noreturn]] void refuse(std::string_view key, const std::string& expected, const std::string& found) const {
    throw StartupError(fmt::format("expected {}, found {}", expected, found),
                       fmt::format("{}: {}{}", file_.path(), prefix_, key),
                       "the metadata does not fit this architecture: take another conversion of the model");
  }

 private:
  // Some writers give one number a layer; all must agree.
  std::optional<std::int64_t> scalar(std::string_view key, bool needed) const {
    const std::string full = prefix_ + std::string(key);
    const GgufValue* v = file_.find(full);
    if (v != nullptr && std::holds_alternative<std::vector<std::int64_t>>(*v)) {
      const auto& list = std::get<std::vector<std::int64_t>>(*v);
      if (list.empty() || std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) != list.end()) {
        refuse(key, "one number for all layers", "different ones");
      }
      return list.front();
    }
    return needed ? std::optional(file_.need_int(full)) : file_.get_int(full);
  }
  std::int64_t bounded(std::string_view key, std::int64_t v, std::int64_t low) const {
    if (v < low || v > kMostOfAnything)
      refuse(key, fmt::format("a number from {} to {}", low, kMostOfAnything), std::to_string(v));
    return v;
  }

  const GgufFile& file_;
  std::string prefix_;
};

bool any_tensor_ends_with(const GgufFile& file, std::string_view suffix) {
  return std::any_of(file.tensors().begin(), file.tensors().end(),
                     [&](const GgufTensor& t) { return t.name.ends_with(suffix); });
}

Json rope(const Keys& k, std::int64_t head_dim) {
  Json rope{{"rope_type", "default"}, {"rope_theta", k.number("rope.freq_base", 10000.0)}};
  const std::string type = k.text("rope.scaling.type", k.has("rope.scale_linear") ? "linear" : "none");
  if (type == "linear" || type == "yarn") {
    rope["rope_type"] = type;
    rope["factor"] = k.number("rope.scaling.factor", k.number("rope.scale_linear", 1.0));
    if (k.has("rope.scaling.original_context_length")) {
      rope["original_max_position_embeddings"] = k.need("rope.scaling.original_context_length");
    }
  } else if (type != "none") {
    k.refuse("rope.scaling.type", "\"none\", \"linear\" or \"yarn\"", "\"" + type + "\"");
  }
  const std::int64_t rotated = k.get("rope.dimension_count", head_dim);
  if (rotated > head_dim)
    k.refuse("rope.dimension_count", fmt::format("at most the head's width {}", head_dim), std::to_string(rotated));
  if (rotated != head_dim) rope["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(head_dim);
  return rope;
}

void add_hybrid(Json& c, const Keys& k, std::int64_t num_layers) {
  const std::int64_t key_heads = k.need("ssm.group_count");
  const std::int64_t value_heads = k.need("ssm.time_step_rank");
  const std::int64_t inner = k.need("ssm.inner_size");
  if (inner % value_heads != 0)
    k.refuse("ssm.inner_size", fmt::format("a multiple of ssm.time_step_rank {}", value_heads), std::to_string(inner));
  if (value_heads % key_heads != 0) {
    k.refuse("ssm.time_step_rank", fmt::format("a multiple of ssm.group_count {}", key_heads),
             std::to_string(value_heads));
  }
  c["linear_conv_kernel_dim"] = k.need("ssm.conv_kernel");
  c["linear_num_key_heads"] = key_heads;
  c["linear_num_value_heads"] = value_heads;
  c["linear_key_head_dim"] = k.need("ssm.state_size");
  c["linear_value_head_dim"] = inner / value_heads;
  c["linear_value_head_order"] = "tiled";
  c["attn_output_gate"] = true;

  const std::int64_t interval = k.get("full_attention_interval", 4);
  c["full_attention_interval"] = interval;
  Json types = Json::array();
  const auto recurrent = k.ints("attention.recurrent_layers");
  if (recurrent && static_cast<std::int64_t>(recurrent->size()) < num_layers) {
    k.refuse("attention.recurrent_layers", fmt::format("one value for each of {} layers", num_layers),
             std::to_string(recurrent->size()));
  }
  for (std::int64_t i = 0; i < num_layers; ++i) {
    const bool linear = recurrent ? (*recurrent)[static_cast<std::size_t>(i)] != 0 : (i + 1) % interval != 0;
    types.push_back(linear ? "linear_attention" : "full_attention");
  }
  c["layer_types"] = std::move(types);

  const auto sections = k.ints("rope.dimension_sections");
  if (!sections || sections->size() < 3) k.refuse("rope.dimension_sections", "three or four section sizes", "fewer");
  c["rope_parameters"]["mrope_interleaved"] = true;
  c["rope_parameters"]["mrope_section"] = {(*sections)[0], (*sections)[1], (*sections)[2]};
}

}  // namespace

Json gguf_config(const GgufFile& file, const GgufArch& arch) {
  const Keys k(file, arch.name);
  const GgufTensor* embed = file.find_tensor("token_embd.weight");
  if (embed == nullptr || embed->shape.size() != 2) {
    throw StartupError(
        embed == nullptr ? "expected the embedding matrix, found none" : "expected a matrix, found another shape",
        file.path() + ": token_embd.weight", "this file holds a vocabulary or a part of a model: give a whole model");
  }
  Json c = Json::object();
  c["architectures"] = {arch.class_name};
  c["model_type"] = arch.model_type;
  const std::int64_t num_mtp = arch.hybrid ? k.get("nextn_predict_layers", 0, 0) : 0;
  const std::int64_t num_layers = k.need("block_count") - num_mtp;
  if (num_layers < 1)
    k.refuse("block_count", fmt::format("more blocks than nextn_predict_layers {}", num_mtp),
             std::to_string(num_layers + num_mtp));
  if (num_layers > static_cast<std::int64_t>(file.tensors().size())) {
    k.refuse("block_count", fmt::format("at most one block a tensor, {}", file.tensors().size()),
             std::to_string(num_layers));
  }
  const std::int64_t hidden = k.need("embedding_length");
  const std::int64_t heads = k.need("attention.head_count");
  const std::int64_t head_dim = k.get("attention.key_length", hidden / heads);
  const std::int64_t value_dim = k.get("attention.value_length", head_dim);
  if (head_dim != value_dim)
    k.refuse("attention.value_length", fmt::format("attention.key_length {}", head_dim), std::to_string(value_dim));
  c["hidden_size"] = hidden;
  c["num_hidden_layers"] = num_layers;
  c["num_attention_heads"] = heads;
  c["num_key_value_heads"] = k.get("attention.head_count_kv", heads);
  c["head_dim"] = head_dim;
  c["vocab_size"] = embed->shape[0];
  c["max_position_embeddings"] = k.need("context_length");
  c["rms_norm_eps"] = k.need_number("attention.layer_norm_rms_epsilon");
  c["hidden_act"] = "silu";
  c["attention_bias"] = any_tensor_ends_with(file, ".attn_q.bias");
  c["mlp_bias"] = any_tensor_ends_with(file, ".ffn_up.bias");
  c["tie_word_embeddings"] = file.find_tensor("output.weight") == nullptr;
  c["rope_parameters"] = rope(k, head_dim);
  c["rope_theta"] = c["rope_parameters"]["rope_theta"];
  if (k.has("attention.sliding_window")) c["sliding_window"] = k.get("attention.sliding_window", 0, 0);
  if (const GgufTensor* factors = file.find_tensor("rope_freqs.weight"))
    c["rope_freq_factors"] = file.read_f32(*factors);

  const std::int64_t experts = k.get("expert_count", 0, 0);
  if ((experts > 0) != arch.experts) {
    k.refuse("expert_count", arch.experts ? "a number of experts" : "no experts for this architecture",
             std::to_string(experts));
  }
  if (arch.experts) {
    c["num_experts"] = experts;
    c["num_experts_per_tok"] = k.need("expert_used_count");
    c["moe_intermediate_size"] = k.need("expert_feed_forward_length");
    c["norm_topk_prob"] = true;
    c["decoder_sparse_step"] = 1;
    c["mlp_only_layers"] = Json::array();
    if (arch.hybrid) c["shared_expert_intermediate_size"] = k.need("expert_shared_feed_forward_length");
  }
  if (!arch.experts) c["intermediate_size"] = k.need("feed_forward_length");
  for (const auto& [key, name] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                  {"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                  {"tokenizer.ggml.padding_token_id", "pad_token_id"}}) {
    if (const auto id = file.get_int(key)) c[name] = *id;
  }
  if (!arch.hybrid) return c;

  add_hybrid(c, k, num_layers);
  c["mtp_num_hidden_layers"] = num_mtp;
  // As in the multimodal checkpoints: the language model's keys in text_config.
  Json whole = Json::object();
  whole["architectures"] = c["architectures"];
  whole["model_type"] = c["model_type"];
  whole["tie_word_embeddings"] = c["tie_word_embeddings"];
  whole["language_model_only"] = true;
  c.erase("architectures");
  c["model_type"] = std::string(arch.model_type) + "_text";
  whole["text_config"] = std::move(c);
  return whole;
}

Json gguf_generation_config(const GgufFile& file) {
  Json g = Json::object();
  if (const auto bos = file.get_int("tokenizer.ggml.bos_token_id")) g["bos_token_id"] = *bos;
  Json stops = Json::array();
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const auto id = file.get_int(key);
    if (id && std::find(stops.begin(), stops.end(), Json(*id)) == stops.end()) stops.push_back(*id);
  }
  if (!stops.empty()) g["eos_token_id"] = std::move(stops);
  if (const auto pad = file.get_int("tokenizer.ggml.padding_token_id")) g["pad_token_id"] = *pad;
  if (const auto t = file.get_double("general.sampling.temp")) g["temperature"] = *t;
  if (const auto p = file.get_double("general.sampling.top_p")) g["top_p"] = *p;
  if (const auto n = file.get_int("general.sampling.top_k")) g["top_k"] = *n;
  if (const auto p = file.get_double("general.sampling.min_p")) g["min_p"] = *p;
  return g;
}

}  // namespace hearth
