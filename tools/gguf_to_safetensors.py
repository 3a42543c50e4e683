#!/usr/bin/env python3
"""Writes the Hugging Face form of a GGUF model: weights dequantised by the gguf package to F32 (or BF16) safetensors, config.json,
generation_config.json, tokenizer.json, chat template. For tests: the same goldens must hold for both forms.

    pip install gguf numpy
    python tools/gguf_to_safetensors.py MODEL.gguf OUT_FOLDER [--dtype f32|bf16]

Architectures llama, qwen2, qwen3, qwen3moe; byte-level BPE vocabularies with the pre-tokenisers below. It shares no code with the
program's own GGUF reader, so that the two check each other. One tensor is in memory at a time.
"""
import argparse
import json
import pathlib
import struct

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

MODEL_TYPES = {"llama": ("llama", "LlamaForCausalLM"), "qwen2": ("qwen2", "Qwen2ForCausalLM"), "qwen3": ("qwen3", "Qwen3ForCausalLM"),
               "qwen3moe": ("qwen3_moe", "Qwen3MoeForCausalLM")}
WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
BLOCK = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "ffn_gate_inp": "mlp.gate"}
EXPERTS = {"ffn_gate_exps": "gate_proj", "ffn_up_exps": "up_proj", "ffn_down_exps": "down_proj"}
QWEN2_SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


# tokenizer.ggml.pre → (normalizer, pretokenizers)
PRE = {"qwen2": ({"type": "NFC"}, [split(QWEN2_SPLIT), byte_level(False)]),
       "smollm": (None, [{"type": "Digits", "individual_digits": True}, byte_level(True)])}


class Source:
    def __init__(self, path):
        self.reader = GGUFReader(path)
        self.arch = self.get("general.architecture")
        if self.arch not in MODEL_TYPES:
            raise SystemExit(f"{path}: architecture {self.arch}, expected one of {', '.join(MODEL_TYPES)}")

    def get(self, key, default=None):
        field = self.reader.fields.get(key)
        return default if field is None else field.contents()

    def arch_key(self, key, default=None):
        return self.get(f"{self.arch}.{key}", default)


def config(s):
    names = {t.name: t for t in s.reader.tensors}
    hidden, heads = s.arch_key("embedding_length"), s.arch_key("attention.head_count")
    model_type, cls = MODEL_TYPES[s.arch]
    c = {"architectures": [cls], "model_type": model_type, "hidden_size": hidden, "intermediate_size": s.arch_key("feed_forward_length"),
         "num_hidden_layers": s.arch_key("block_count"), "num_attention_heads": heads,
         "num_key_value_heads": s.arch_key("attention.head_count_kv", heads), "head_dim": s.arch_key("attention.key_length", hidden // heads),
         "vocab_size": int(names["token_embd.weight"].shape[1]), "max_position_embeddings": s.arch_key("context_length"),
         "rms_norm_eps": s.arch_key("attention.layer_norm_rms_epsilon"), "hidden_act": "silu",
         "rope_theta": s.arch_key("rope.freq_base", 10000.0), "tie_word_embeddings": "output.weight" not in names,
         "attention_bias": "blk.0.attn_q.bias" in names, "mlp_bias": False}
    if "rope_freqs.weight" in names:
        raise SystemExit("rope_freqs.weight: the factors of Llama-3 scaling have no form in config.json that gives exactly these numbers")
    if s.arch == "qwen3moe":
        c |= {"num_experts": s.arch_key("expert_count"), "num_experts_per_tok": s.arch_key("expert_used_count"),
              "moe_intermediate_size": s.arch_key("expert_feed_forward_length"), "norm_topk_prob": True, "decoder_sparse_step": 1,
              "mlp_only_layers": []}
    return c


def unpermute(x, heads):
    """llama keeps rotary pairs side by side: row 2i + s of a head is row s · d/2 + i of the original."""
    d = x.shape[0] // heads
    return x.reshape(heads, d // 2, 2, -1).swapaxes(1, 2).reshape(x.shape)


def pieces(s, c):
    """(name, shape, function that gives the array) for every tensor of the result."""
    for t in s.reader.tensors:
        shape = [int(n) for n in reversed(t.shape)]

        def load(t=t, shape=shape):
            return dequantize(t.data, t.tensor_type).reshape(shape).astype(np.float32, copy=False)

        if t.name in WHOLE:
            yield WHOLE[t.name], shape, load
            continue
        _, layer, rest = t.name.split(".", 2)
        stem, suffix = rest.rsplit(".", 1)
        prefix = f"model.layers.{layer}."
        if stem in EXPERTS:
            for e in range(shape[0]):
                yield f"{prefix}mlp.experts.{e}.{EXPERTS[stem]}.weight", shape[1:], lambda e=e, load=load: load()[e]
        elif s.arch == "llama" and stem in ("attn_q", "attn_k"):
            heads = c["num_attention_heads" if stem == "attn_q" else "num_key_value_heads"]
            yield f"{prefix}{BLOCK[stem]}.{suffix}", shape, lambda load=load, heads=heads: unpermute(load(), heads)
        else:
            yield f"{prefix}{BLOCK[stem]}.{suffix}", shape, load


def to_bytes(x, dtype):
    if dtype == "f32":
        return np.ascontiguousarray(x, dtype="<f4").tobytes()
    n = np.ascontiguousarray(x, dtype="<f4").view(np.uint32).astype(np.uint64)
    return ((n + 0x7FFF + ((n >> 16) & 1)) >> 16).astype("<u2").tobytes()


def write_weights(path, s, c, dtype):
    width = {"f32": 4, "bf16": 2}[dtype]
    header, end, todo = {"__metadata__": {"format": "pt"}}, 0, list(pieces(s, c))
    for name, shape, _ in todo:
        size = int(np.prod(shape)) * width
        header[name] = {"dtype": dtype.upper(), "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, load in todo:
            f.write(to_bytes(load(), dtype))


def write_tokenizer(folder, s):
    pre = s.get("tokenizer.ggml.pre")
    if s.get("tokenizer.ggml.model") != "gpt2" or pre not in PRE:
        raise SystemExit(f"tokenizer {s.get('tokenizer.ggml.model')} with pre-tokeniser {pre}: expected gpt2 with one of {', '.join(PRE)}")
    normalizer, pretokenizers = PRE[pre]
    tokens, types = s.get("tokenizer.ggml.tokens"), s.get("tokenizer.ggml.token_type")
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": k == 3}
             for i, (t, k) in enumerate(zip(tokens, types)) if k in (3, 4)]
    vocab = {t: i for i, (t, k) in enumerate(zip(tokens, types)) if k not in (5,)}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
                 "pre_tokenizer": {"type": "Sequence", "pretokenizers": pretokenizers}, "post_processor": None,
                 "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                 "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                           "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab,
                           "merges": s.get("tokenizer.ggml.merges")}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))

    def text_of(key):
        i = s.get(f"tokenizer.ggml.{key}_token_id")
        return None if i is None else tokens[i]

    told = {"add_bos_token": s.get("tokenizer.ggml.add_bos_token", False), "bos_token": text_of("bos"), "eos_token": text_of("eos"),
            "pad_token": text_of("padding"), "unk_token": text_of("unknown"), "model_max_length": s.arch_key("context_length")}
    (folder / "tokenizer_config.json").write_text(json.dumps(told, indent=1))
    if template := s.get("tokenizer.chat_template"):
        (folder / "chat_template.jinja").write_text(template)
    ids = {k: s.get(f"tokenizer.ggml.{g}_token_id") for k, g in (("bos_token_id", "bos"), ("eos_token_id", "eos"), ("pad_token_id", "padding"))}
    return {k: v for k, v in ids.items() if v is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    a = parser.parse_args()
    s = Source(a.gguf)
    c = config(s)
    a.out.mkdir(parents=True, exist_ok=True)
    ids = write_tokenizer(a.out, s)
    (a.out / "generation_config.json").write_text(json.dumps(ids, indent=1))
    write_weights(a.out / "model.safetensors", s, c, a.dtype)
    # Last: a folder with config.json is a whole one.
    (a.out / "config.json").write_text(json.dumps(c | ids | {"dtype": {"f32": "float32", "bf16": "bfloat16"}[a.dtype]}, indent=1))


if __name__ == "__main__":
    main()
