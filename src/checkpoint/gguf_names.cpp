// gguf_names.cpp — where each GGUF tensor stands in the Hugging Face checkpoint.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <span>

#include "base/status.h"
#include "checkpoint/gguf_arch.h"
#include "checkpoint/gguf_name_table.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/stacked_experts.h"

namespace hearth {
namespace {

using Kind = GgufNameKind;
using Row = GgufName;

const Row* find_row(std::span<const Row> rows, std::string_view name) {
  for (const Row& r : rows) {
    if (r.gguf == name) return &r;
  }
  return nullptr;
}

class Placer {
 public:
  Placer(const GgufFile& file, const GgufArch& arch, const Json& config)
      : file_(file), arch_(arch), config_(text_config(config)), num_layers_(get_count(config_, "num_hidden_layers")) {}

  std::vector<GgufPlacement> run() {
    for (index_ = 0; index_ < file_.tensors().size(); ++index_) place(file_.tensors()[index_]);
    return std::move(out_);
  }

 private:
  void place(const GgufTensor& t) {
    if (t.name == "rope_freqs.weight") return;  // in the configuration
    if (t.name == "token_embd.weight") return put(t, "model.embed_tokens.weight", Kind::plain);
    if (t.name == "output.weight") return put(t, "lm_head.weight", Kind::plain);
    if (t.name == "output_norm.weight") return put(t, "model.norm.weight", Kind::norm);
    std::int64_t layer = 0;
    std::string_view rest;
    if (!split_block(t.name, layer, rest)) return put(t, t.name, Kind::plain);
    const bool mtp = layer >= num_layers_;
    if (mtp && arch_.hybrid) {
      if (const Row* r = find_row(kGgufNextn, rest)) return put(t, std::string(r->hf), r->kind);
    }
    const Row* r = find_row(kGgufBlock, rest);
    if (r == nullptr && arch_.hybrid) r = find_row(kGgufHybridBlock, rest);
    if (r == nullptr || (mtp && !arch_.hybrid)) return put(t, t.name, Kind::plain);
    const std::string prefix =
        mtp ? fmt::format("mtp.layers.{}.", layer - num_layers_) : fmt::format("model.layers.{}.", layer);
    switch (r->kind) {
      case Kind::experts:
        return put_experts(t, prefix, *r);
      case Kind::experts_gate_up:
        return put_gate_up(t, prefix);
      case Kind::qkv:
        if (mtp || full_attention(layer)) return put_full_qkv(t, prefix);
        return put(t, prefix + std::string(r->hf), Kind::plain);
      default:
        return put(t, prefix + std::string(r->hf), r->kind);
    }
  }

  // "blk.12.attn_q.weight" → 12, "attn_q.weight".
  static bool split_block(std::string_view name, std::int64_t& layer, std::string_view& rest) {
    if (!name.starts_with("blk.")) return false;
    const char* end = name.data() + name.size();
    const auto [p, error] = std::from_chars(name.data() + 4, end, layer);
    if (error != std::errc() || p == end || *p != '.' || layer < 0) return false;
    rest = name.substr(static_cast<std::size_t>(p - name.data()) + 1);
    return true;
  }

  bool full_attention(std::int64_t layer) const {
    return config_["layer_types"][static_cast<std::size_t>(layer)] == "full_attention";
  }

  [[noreturn]] void misshaped(const GgufTensor& t, const std::string& expected) const {
    throw StartupError(fmt::format("expected {}, found shape [{}]", expected, fmt::join(t.shape, ", ")),
                       file_.path() + ": " + t.name,
                       "the tensor does not fit this architecture: take another conversion of the model");
  }

  GgufPlacement base(const GgufTensor& t, std::string name) const {
    GgufPlacement p;
    p.tensor = {std::move(name), t.format, t.shape, static_cast<std::int64_t>(t.bytes)};
    p.stored = index_;
    return p;
  }

  void put(const GgufTensor& t, std::string name, Kind kind) {
    GgufPlacement p = base(t, std::move(name));
    switch (kind) {
      case Kind::norm:
        if (arch_.hybrid) change_numbers(t, p, GgufChange::minus_one);
        break;
      case Kind::a_log:
        change_numbers(t, p, GgufChange::log_negative);
        break;
      case Kind::query:
        unpermute(t, p, "num_attention_heads");
        break;
      case Kind::key:
        unpermute(t, p, "num_key_value_heads");
        break;
      case Kind::conv:
        if (t.shape.size() != 2) misshaped(t, "[channels, taps]");
        p.tensor.shape = {t.shape[0], 1, t.shape[1]};
        break;
      case Kind::one_row:
        if (t.shape.size() == 1) p.tensor.shape = {1, t.shape[0]};
        break;
      default:
        break;
    }
    out_.push_back(std::move(p));
  }

  void change_numbers(const GgufTensor& t, GgufPlacement& p, GgufChange change) const {
    if (!format_info(t.format).is_float_weight || t.numbers() > (1 << 24))
      misshaped(t, "a short vector of floating-point numbers");
    p.change = change;
    p.tensor.format = Format::f32;
    p.tensor.bytes = 4 * t.numbers();
  }

  void unpermute(const GgufTensor& t, GgufPlacement& p, const char* heads_key) const {
    if (!arch_.permuted_rotary) return;
    p.change = GgufChange::unpermute;
    p.heads = get_count(config_, heads_key);
    if (t.shape.size() > 2 || t.shape[0] % (2 * p.heads) != 0)
      misshaped(t, fmt::format("rows for {} heads of even width", p.heads));
    if (t.shape.size() == 1 && format_info(t.format).block_elems != 1) misshaped(t, "a bias in a plain format");
  }

  // Rows [begin, begin + rows) of a matrix.
  void put_rows(const GgufTensor& t, std::string name, std::int64_t begin, std::int64_t rows) {
    GgufPlacement p = base(t, std::move(name));
    const std::int64_t row_bytes = format_bytes(t.format, t.shape[1]);
    p.tensor.shape = {rows, t.shape[1]};
    p.tensor.bytes = rows * row_bytes;
    p.offset = begin * row_bytes;
    out_.push_back(std::move(p));
  }

  void put_full_qkv(const GgufTensor& t, const std::string& prefix) {
    const std::int64_t width = get_count(config_, "head_dim");
    const std::int64_t q = 2 * get_count(config_, "num_attention_heads") * width;  // with the gate's rows
    const std::int64_t kv = get_count(config_, "num_key_value_heads") * width;
    if (t.shape.size() != 2 || t.shape[0] != q + 2 * kv) misshaped(t, fmt::format("{} rows of q, k and v", q + 2 * kv));
    put_rows(t, prefix + "self_attn.q_proj.weight", 0, q);
    put_rows(t, prefix + "self_attn.k_proj.weight", q, kv);
    put_rows(t, prefix + "self_attn.v_proj.weight", q + kv, kv);
  }

  void put_slices(const std::vector<ExpertSlice>& slices) {
    for (const ExpertSlice& s : slices) {
      GgufPlacement p;
      p.tensor = s.tensor;
      p.stored = index_;
      p.offset = s.offset;
      out_.push_back(std::move(p));
    }
  }

  void put_experts(const GgufTensor& t, const std::string& prefix, const Row& row) {
    if (t.shape.size() != 3) misshaped(t, "[experts, rows, columns]");
    std::vector<ExpertSlice> slices;
    append_expert_slices(base(t, t.name).tensor, prefix + "mlp.experts.", std::string(row.hf), 0, t.shape[1], slices);
    put_slices(slices);
  }

  void put_gate_up(const GgufTensor& t, const std::string& prefix) {
    if (t.shape.size() != 3 || t.shape[1] % 2 != 0) misshaped(t, "[experts, 2 · width, hidden]");
    const std::int64_t width = t.shape[1] / 2;
    std::vector<ExpertSlice> slices;
    append_expert_slices(base(t, t.name).tensor, prefix + "mlp.experts.", "gate_proj", 0, width, slices);
    append_expert_slices(base(t, t.name).tensor, prefix + "mlp.experts.", "up_proj", width, 2 * width, slices);
    put_slices(slices);
  }

  const GgufFile& file_;
  const GgufArch& arch_;
  const Json& config_;
  std::int64_t num_layers_;
  std::size_t index_ = 0;
  std::vector<GgufPlacement> out_;
};

}  // namespace

std::vector<GgufPlacement> place_gguf_tensors(const GgufFile& file, const GgufArch& arch, const Json& config) {
  return Placer(file, arch, config).run();
}

}  // namespace hearth
