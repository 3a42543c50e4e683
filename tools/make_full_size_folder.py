#!/usr/bin/env python3
"""Writes the config.json of Qwen3.5-35B-A3B-FP8 (text only), for `hearth … FOLDER --load-format dummy`.

    tools/make_full_size_folder.py OUT [--bf16] [--layers N]
"""
import argparse
import json
import pathlib

a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
a.add_argument("out", type=pathlib.Path)
a.add_argument("--bf16", action="store_true", help="BF16 weights instead of block-128 FP8")
a.add_argument("--layers", type=int, default=40)
a = a.parse_args()

kinds = ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(a.layers)]
text = {
    "model_type": "qwen3_5_moe_text", "dtype": "bfloat16", "hidden_size": 2048, "num_hidden_layers": a.layers,
    "layer_types": kinds, "full_attention_interval": 4, "vocab_size": 248320, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "attn_output_gate": True, "attention_bias": False, "hidden_act": "silu",
    "rms_norm_eps": 1e-6, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32", "num_experts": 256,
    "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
    "max_position_embeddings": 262144, "mtp_num_hidden_layers": 1, "partial_rotary_factor": 0.25,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000, "partial_rotary_factor": 0.25,
                        "mrope_section": [11, 11, 10], "mrope_interleaved": True},
    "bos_token_id": 248044, "eos_token_id": 248044, "tie_word_embeddings": False,
}
config = {"architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe", "text_config": text,
          "tie_word_embeddings": False, "language_model_only": True}
if not a.bf16:
    exempt = ["lm_head", "model.language_model.embed_tokens"]
    for i, kind in enumerate(kinds):
        layer = f"model.language_model.layers.{i}."
        if kind == "linear_attention":
            exempt += [layer + "linear_attn." + m for m in ("conv1d", "in_proj_a", "in_proj_b")]
        exempt += [layer + "mlp." + m for m in ("gate", "shared_expert_gate")]
    config["quantization_config"] = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                                     "weight_per_tensor": False, "act_per_tensor": False, "modules_to_not_convert": exempt}
a.out.mkdir(parents=True, exist_ok=True)
(a.out / "config.json").write_text(json.dumps(config, indent=1))
