#include "checkpoint/testing/hf_to_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "base/check.h"
#include "base/status.h"
#include "checkpoint/fp8_scales.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_name_table.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/testing/gguf_vocab_export.h"
#include "quant/fp8_block128.h"

namespace hearth {
namespace {

using Kind = GgufNameKind;

struct Matrix2 {  // rows × cols of f32; 1-D tensors have cols = 1
  std::vector<float> x;
  std::int64_t rows = 0, cols = 1;
};

std::string gguf_arch_name(const std::string& model_type) {
  const std::map<std::string, std::string> names{{"llama", "llama"},    {"qwen2", "qwen2"},
                                                 {"qwen3", "qwen3"},    {"qwen3_moe", "qwen3moe"},
                                                 {"qwen3_5", "qwen35"}, {"qwen3_5_moe", "qwen35moe"}};
  const auto it = names.find(model_type);
  if (it == names.end()) config_error("model_type", "one that has a GGUF form here", model_type);
  return it->second;
}

class Exporter {
 public:
  Exporter(WeightSource& hf, const GgufExport& options)
      : hf_(hf),
        options_(options),
        c_(text_config(hf.config())),
        arch_(gguf_arch_name(get_string(hf.config(), "model_type"))),
        hybrid_(arch_.starts_with("qwen35")),
        num_layers_(get_count(c_, "num_hidden_layers")) {}

  void run(const std::string& path) {
    tensors();
    metadata();
    write_gguf(path, metadata_, out_);
  }

 private:
  // --- reading -------------------------------------------------------------------------------------------------------

  Matrix2 read(const SourceTensor& t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
    hf_.read(t, bytes);
    Matrix2 m;
    m.rows = t.shape.front();
    std::int64_t n = 1;
    for (std::int64_t d : t.shape) n *= d;
    m.cols = n / m.rows;
    m.x.resize(static_cast<std::size_t>(n));
    if (t.format == Format::f8_e4m3) {
      const std::vector<float> scales = read_fp8_scales(hf_, t);
      dequantize_fp8_block128(bytes.data(), scales.data(), m.rows, m.cols, m.x.data());
    } else {
      format_info(t.format).dequantize(bytes.data(), n, m.x.data());
    }
    return m;
  }

  // --- the transforms ------------------------------------------------------------------------------------------------

  // Row r of the result is row source(r) of m.
  template <class F>
  static void reorder_rows(Matrix2& m, F source) {
    const std::vector<float> old = m.x;
    const auto cols = static_cast<std::size_t>(m.cols);
    for (std::int64_t r = 0; r < m.rows; ++r) {
      std::copy_n(old.data() + static_cast<std::size_t>(source(r)) * cols, cols,
                  m.x.data() + static_cast<std::size_t>(r) * cols);
    }
  }

  // Rows from first on are value heads of width rows each: grouped by key head (g · n + j) → tiled (j · Nk + g).
  void tile_rows(Matrix2& m, std::int64_t first, std::int64_t width) const {
    const std::int64_t nk = get_count(c_, "linear_num_key_heads");
    const std::int64_t n = get_count(c_, "linear_num_value_heads") / nk;
    reorder_rows(m, [&](std::int64_t r) {
      if (r < first) return r;
      const std::int64_t head = (r - first) / width;
      return first + ((head % nk) * n + head / nk) * width + (r - first) % width;
    });
  }

  static Matrix2 transposed(const Matrix2& m) {
    Matrix2 t{std::vector<float>(m.x.size()), m.cols, m.rows};
    for (std::int64_t r = 0; r < m.rows; ++r) {
      for (std::int64_t c = 0; c < m.cols; ++c)
        t.x[static_cast<std::size_t>(c * m.rows + r)] = m.x[static_cast<std::size_t>(r * m.cols + c)];
    }
    return t;
  }

  void permute_rotary(Matrix2& m, std::int64_t heads) const {
    const std::int64_t d = m.rows / heads;
    reorder_rows(m, [&](std::int64_t r) { return r / d * d + (r % d) % 2 * (d / 2) + (r % d) / 2; });
  }

  void transform(Matrix2& m, std::string_view gguf, Kind kind) const {
    if (arch_ == "llama" && kind == Kind::query) permute_rotary(m, get_count(c_, "num_attention_heads"));
    if (arch_ == "llama" && kind == Kind::key) permute_rotary(m, get_count(c_, "num_key_value_heads"));
    if (!hybrid_) return;
    const std::int64_t dv = get_count(c_, "linear_value_head_dim");
    const std::int64_t keys = 2 * get_count(c_, "linear_num_key_heads") * get_count(c_, "linear_key_head_dim");
    if (kind == Kind::norm) {
      for (float& v : m.x) v += 1.0f;
    } else if (kind == Kind::a_log) {
      for (float& v : m.x) v = -std::exp(v);
      tile_rows(m, 0, 1);
    } else if (kind == Kind::qkv || kind == Kind::conv) {
      tile_rows(m, keys, dv);
    } else if (gguf == "attn_gate.weight") {
      tile_rows(m, 0, dv);
    } else if (gguf == "ssm_alpha.weight" || gguf == "ssm_beta.weight" || gguf == "ssm_dt.bias") {
      tile_rows(m, 0, 1);
    } else if (gguf == "ssm_out.weight") {
      Matrix2 t = transposed(m);
      tile_rows(t, 0, dv);
      m = transposed(t);
    }
  }

  // --- writing -------------------------------------------------------------------------------------------------------

  Format format_for(std::string_view gguf, std::int64_t cols) const {
    const bool small = gguf.starts_with("ssm_alpha") || gguf.starts_with("ssm_beta") ||
                       gguf.starts_with("ssm_conv1d") || gguf.starts_with("ffn_gate_inp");
    return cols == 1 || small || cols % format_info(options_.matrices).block_elems != 0 ? Format::f32
                                                                                        : options_.matrices;
  }

  void put(const std::string& name, Format format, std::vector<std::int64_t> shape, const std::vector<float>& x) {
    const auto n = static_cast<std::int64_t>(x.size());
    GgufOutTensor t{name, format, std::move(shape),
                    std::vector<std::byte>(static_cast<std::size_t>(format_bytes(format, n)))};
    format_info(format).quantize(x.data(), n, t.data.data());
    out_.push_back(std::move(t));
  }

  void put_matrix(const std::string& prefix, std::string_view gguf, Kind kind, const SourceTensor& t) {
    Matrix2 m = read(t);
    transform(m, gguf, kind);
    const bool vector = t.shape.size() == 1 || kind == Kind::one_row;
    put(prefix + std::string(gguf), format_for(gguf, vector ? 1 : m.cols),
        vector ? std::vector{m.rows * m.cols} : std::vector{m.rows, m.cols}, m.x);
  }

  // All experts of one projection, stacked.
  void put_experts(const std::string& prefix, const std::string& hf_prefix, const GgufName& row) {
    std::vector<float> all;
    Matrix2 m;
    std::int64_t e = 0;
    for (;; ++e) {
      const SourceTensor* t = hf_.find(fmt::format("{}mlp.experts.{}.{}.weight", hf_prefix, e, row.hf));
      if (t == nullptr) break;
      m = read(*t);
      all.insert(all.end(), m.x.begin(), m.x.end());
    }
    if (e > 0) put(prefix + std::string(row.gguf), format_for(row.gguf, m.cols), {e, m.rows, m.cols}, all);
  }

  void block(const std::string& prefix, const std::string& hf_prefix) {
    const auto rows = [&](std::span<const GgufName> table) {
      for (const GgufName& r : table) {
        if (hybrid_ && r.gguf == "ffn_norm.weight") continue;  // post_attention_norm there
        if (r.kind == Kind::experts) {
          put_experts(prefix, hf_prefix, r);
        } else if (const SourceTensor* t = hf_.find(hf_prefix + std::string(r.hf)); t != nullptr && !r.hf.empty()) {
          put_matrix(prefix, r.gguf, r.kind, *t);
        }
      }
    };
    rows(kGgufBlock);
    if (hybrid_) rows(kGgufHybridBlock);
  }

  void tensors() {
    const std::string model =
        hf_.find("model.language_model.norm.weight") != nullptr ? "model.language_model." : "model.";
    const auto whole = [&](const std::string& gguf, const std::string& name, Kind kind) {
      if (const SourceTensor* t = hf_.find(name)) put_matrix("", gguf, kind, *t);
    };
    whole("token_embd.weight", model + "embed_tokens.weight", Kind::plain);
    whole("output_norm.weight", model + "norm.weight", Kind::norm);
    if (!get_bool(hf_.config(), "tie_word_embeddings", get_bool(c_, "tie_word_embeddings", false)))
      whole("output.weight", "lm_head.weight", Kind::plain);
    for (std::int64_t i = 0; i < num_layers_; ++i)
      block(fmt::format("blk.{}.", i), fmt::format("{}layers.{}.", model, i));
    if (num_mtp() == 0) return;
    const std::string prefix = fmt::format("blk.{}.", num_layers_);
    block(prefix, "mtp.layers.0.");
    for (const GgufName& r : kGgufNextn) {
      if (const SourceTensor* t = hf_.find(r.hf)) put_matrix(prefix, r.gguf, r.kind, *t);
    }
  }

  std::int64_t num_mtp() const { return hybrid_ && hf_.find("mtp.fc.weight") != nullptr ? 1 : 0; }

  // --- metadata ------------------------------------------------------------------------------------------------------

  void key(const char* name, GgufValue value) { metadata_.emplace_back(arch_ + "." + name, std::move(value)); }
  void copy(const char* name, const char* hf_key) {
    if (find_key(c_, hf_key) != nullptr) key(name, get_int(c_, hf_key));
  }

  void metadata() {
    metadata_.emplace_back("general.architecture", arch_);
    key("block_count", num_layers_ + num_mtp());
    copy("context_length", "max_position_embeddings");
    copy("embedding_length", "hidden_size");
    copy("feed_forward_length", "intermediate_size");
    copy("attention.head_count", "num_attention_heads");
    copy("attention.head_count_kv", "num_key_value_heads");
    const std::int64_t head_dim =
        get_count(c_, "head_dim", get_count(c_, "hidden_size") / get_count(c_, "num_attention_heads"));
    key("attention.key_length", head_dim);
    key("attention.value_length", head_dim);
    key("attention.layer_norm_rms_epsilon", get_double(c_, "rms_norm_eps"));
    const Json rope = rope_parameters(c_);
    key("rope.freq_base", get_double(rope, "rope_theta"));
    key("rope.dimension_count", static_cast<std::int64_t>(std::lround(static_cast<double>(head_dim) *
                                                                      get_double(rope, "partial_rotary_factor", 1.0))));
    if (get_string(rope, "rope_type") == "llama3") rope_factors(rope, head_dim);
    if (find_key(c_, "num_experts_per_tok") != nullptr) key("expert_count", get_num_experts(c_));
    copy("expert_used_count", "num_experts_per_tok");
    copy("expert_feed_forward_length", "moe_intermediate_size");
    copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
    if (hybrid_) {
      std::vector<std::int64_t> sections = find_key(rope, "mrope_section")->get<std::vector<std::int64_t>>();
      sections.push_back(0);
      key("rope.dimension_sections", std::move(sections));
      copy("ssm.conv_kernel", "linear_conv_kernel_dim");
      copy("ssm.state_size", "linear_key_head_dim");
      copy("ssm.group_count", "linear_num_key_heads");
      copy("ssm.time_step_rank", "linear_num_value_heads");
      key("ssm.inner_size", get_count(c_, "linear_num_value_heads") * get_count(c_, "linear_value_head_dim"));
      copy("full_attention_interval", "full_attention_interval");
      if (num_mtp() > 0) key("nextn_predict_layers", num_mtp());
    }
    if (!options_.tokenizer_folder.empty()) export_gguf_vocab(options_.tokenizer_folder, hf_, arch_, metadata_);
  }

  // Llama-3 scaling as GGUF holds it: a divisor for each frequency.
  void rope_factors(const Json& rope, std::int64_t head_dim) {
    const double factor = get_double(rope, "factor");
    const double low = get_double(rope, "low_freq_factor");
    const double high = get_double(rope, "high_freq_factor");
    const double context = get_double(rope, "original_max_position_embeddings");
    std::vector<float> divisors;
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
      const double wavelength =
          2 * M_PI *
          std::pow(get_double(rope, "rope_theta"), 2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
      double divisor = 1;
      if (wavelength > context / low) {
        divisor = factor;
      } else if (wavelength >= context / high) {
        const double smooth = (context / wavelength - low) / (high - low);
        divisor = 1 / ((1 - smooth) / factor + smooth);
      }
      divisors.push_back(static_cast<float>(divisor));
    }
    put("rope_freqs.weight", Format::f32, {static_cast<std::int64_t>(divisors.size())}, divisors);
  }

  WeightSource& hf_;
  const GgufExport& options_;
  const Json& c_;
  std::string arch_;
  bool hybrid_;
  std::int64_t num_layers_;
  GgufMetadata metadata_;
  std::vector<GgufOutTensor> out_;
};

}  // namespace

void write_gguf_from_hf(WeightSource& hf, const std::string& path, const GgufExport& options) {
  Exporter(hf, options).run(path);
}

}  // namespace hearth
