// gguf_name_table.h — names of GGUF tensors beside their Hugging Face names, and what is done to each.
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth {

enum class GgufNameKind : std::uint8_t {
  plain,
  norm,  // Qwen3.5: stored + 1
  query,
  key,              // llama: rows permuted
  a_log,            // stored −exp(A_log)
  conv,             // [C, W] → [C, 1, W]
  one_row,          // [D] → [1, D]
  qkv,              // linear attention: in_proj_qkv; full attention: q, k, v below one another
  experts,          // [E, N, K] → one matrix an expert; hf is the projection
  experts_gate_up,  // [E, 2F, D]: gate rows, then up rows
};

struct GgufName {
  std::string_view gguf;  // behind "blk.N."
  std::string_view hf;    // behind "model.layers.N."
  GgufNameKind kind = GgufNameKind::plain;
};

inline constexpr GgufName kGgufBlock[] = {
    {"attn_norm.weight", "input_layernorm.weight", GgufNameKind::norm},
    {"attn_q.weight", "self_attn.q_proj.weight", GgufNameKind::query},
    {"attn_q.bias", "self_attn.q_proj.bias", GgufNameKind::query},
    {"attn_k.weight", "self_attn.k_proj.weight", GgufNameKind::key},
    {"attn_k.bias", "self_attn.k_proj.bias", GgufNameKind::key},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_v.bias", "self_attn.v_proj.bias"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_output.bias", "self_attn.o_proj.bias"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight", GgufNameKind::norm},
    {"attn_k_norm.weight", "self_attn.k_norm.weight", GgufNameKind::norm},
    {"ffn_norm.weight", "post_attention_layernorm.weight", GgufNameKind::norm},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_gate.bias", "mlp.gate_proj.bias"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_up.bias", "mlp.up_proj.bias"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
    {"ffn_down.bias", "mlp.down_proj.bias"},
    {"ffn_gate_inp.weight", "mlp.gate.weight"},
    {"ffn_gate_exps.weight", "gate_proj", GgufNameKind::experts},
    {"ffn_up_exps.weight", "up_proj", GgufNameKind::experts},
    {"ffn_down_exps.weight", "down_proj", GgufNameKind::experts},
    {"ffn_gate_up_exps.weight", "", GgufNameKind::experts_gate_up},
};

inline constexpr GgufName kGgufHybridBlock[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight", GgufNameKind::norm},
    {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight", GgufNameKind::qkv},
    {"attn_gate.weight", "linear_attn.in_proj_z.weight"},
    {"ssm_alpha.weight", "linear_attn.in_proj_a.weight"},
    {"ssm_beta.weight", "linear_attn.in_proj_b.weight"},
    {"ssm_a", "linear_attn.A_log", GgufNameKind::a_log},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"ssm_conv1d.weight", "linear_attn.conv1d.weight", GgufNameKind::conv},
    {"ssm_norm.weight", "linear_attn.norm.weight"},
    {"ssm_out.weight", "linear_attn.out_proj.weight"},
    {"ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight", GgufNameKind::one_row},
    {"ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"},
    {"ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"},
    {"ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"},
};

// Behind "blk.N." of the MTP block, and their whole names.
inline constexpr GgufName kGgufNextn[] = {
    {"nextn.eh_proj.weight", "mtp.fc.weight"},
    {"nextn.enorm.weight", "mtp.pre_fc_norm_embedding.weight", GgufNameKind::norm},
    {"nextn.hnorm.weight", "mtp.pre_fc_norm_hidden.weight", GgufNameKind::norm},
    {"nextn.shared_head_norm.weight", "mtp.norm.weight", GgufNameKind::norm},
    {"nextn.embed_tokens.weight", "mtp.embed_tokens.weight"},
    {"nextn.shared_head_head.weight", "mtp.lm_head.weight"},
};

}  // namespace hearth
