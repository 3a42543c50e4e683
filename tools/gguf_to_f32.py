#!/usr/bin/env python3
"""Writes a GGUF model (architecture llama or qwen2, byte-level BPE) as a Hugging Face folder with F32 safetensors.

  tools/gguf_to_f32.py MODEL.gguf FOLDER

The weights are dequantised exactly, so a computation in F32 on the folder says what the GGUF's numbers mean. Needs the
packages gguf and numpy.
"""
import json
import pathlib
import struct
import sys

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def field(reader, key, otherwise=None):
    found = reader.get_field(key)
    return otherwise if found is None else found.contents()


def hf_name(name):
    if name in NAMES:
        return NAMES[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{LAYER_NAMES[part]}.{kind}"


def unpermute(w, heads):
    """GGUF's llama files have rotary pairs side by side; here they are half a head apart."""
    rows = w.shape[0]
    return w.reshape(heads, rows // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def config_of(reader, arch, tied, vocab):
    get = lambda key, otherwise=None: field(reader, f"{arch}.{key}", otherwise)
    heads = get("attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM" if arch == "llama" else "Qwen2ForCausalLM"], "model_type": arch,
        "hidden_size": get("embedding_length"), "intermediate_size": get("feed_forward_length"),
        "num_hidden_layers": get("block_count"), "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv", heads), "head_dim": get("embedding_length") // heads,
        "rms_norm_eps": float(get("attention.layer_norm_rms_epsilon")), "rope_theta": float(get("rope.freq_base", 10000.0)),
        "max_position_embeddings": get("context_length"), "vocab_size": vocab, "tie_word_embeddings": tied,
        "hidden_act": "silu", "torch_dtype": "float32", "attention_bias": False, "mlp_bias": False,
        "bos_token_id": field(reader, "tokenizer.ggml.bos_token_id"), "eos_token_id": field(reader, "tokenizer.ggml.eos_token_id"),
    }


def write_tokenizer(reader, folder):
    tokens, types = field(reader, "tokenizer.ggml.tokens"), field(reader, "tokenizer.ggml.token_type")
    pre = field(reader, "tokenizer.ggml.pre")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pre == "smollm"}
    if pre == "smollm":
        first = {"type": "Digits", "individual_digits": True}
    elif pre == "qwen2":
        first = {"type": "Split", "pattern": {"Regex": QWEN2_SPLIT}, "behavior": "Isolated", "invert": False}
    else:
        raise SystemExit(f"no split is known for the pre-tokeniser '{pre}'")
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": k == 3}
             for i, (t, k) in enumerate(zip(tokens, types)) if k in (3, 4)]
    added_ids = {a["id"] for a in added}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [first, byte_level]}, "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {t: i for i, (t, k) in enumerate(zip(tokens, types)) if k == 1 or (i in added_ids and pre == "smollm")},
                  "merges": field(reader, "tokenizer.ggml.merges")},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    text = lambda key: None if field(reader, key) is None else tokens[field(reader, key)]
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": text("tokenizer.ggml.bos_token_id"),
        "eos_token": text("tokenizer.ggml.eos_token_id"), "pad_token": text("tokenizer.ggml.padding_token_id"),
        "chat_template": field(reader, "tokenizer.chat_template")}, ensure_ascii=False))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": field(reader, "tokenizer.ggml.eos_token_id")}))


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    reader, folder = GGUFReader(sys.argv[1]), pathlib.Path(sys.argv[2])
    arch = field(reader, "general.architecture")
    if arch not in ("llama", "qwen2"):
        raise SystemExit(f"architecture '{arch}' is not converted here; llama and qwen2 are")
    folder.mkdir(parents=True, exist_ok=True)
    heads = field(reader, f"{arch}.attention.head_count")
    kv_heads = field(reader, f"{arch}.attention.head_count_kv", heads)
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    tensors = [t for t in reader.tensors if t.name != "rope_freqs.weight"]
    for t in tensors:
        shape = [int(n) for n in reversed(t.shape)]
        size = 4 * int(np.prod(shape))
        header[hf_name(t.name)] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    partial = folder / "model.safetensors.partial"
    with open(partial, "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head)
        for t in tensors:
            w = dequantize(t.data, t.tensor_type).astype("<f4").reshape([int(n) for n in reversed(t.shape)])
            if arch == "llama" and ".attn_q." in t.name:
                w = unpermute(w, heads)
            if arch == "llama" and ".attn_k." in t.name:
                w = unpermute(w, kv_heads)
            out.write(np.ascontiguousarray(w).tobytes())
    partial.rename(folder / "model.safetensors")
    write_tokenizer(reader, folder)
    names = {t.name for t in tensors}
    vocab = int(next(t for t in tensors if t.name == "token_embd.weight").shape[1])
    (folder / "config.json").write_text(json.dumps(config_of(reader, arch, "output.weight" not in names, vocab), indent=1))


if __name__ == "__main__":
    main()
