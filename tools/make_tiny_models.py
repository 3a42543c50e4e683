#!/usr/bin/env python3
"""Writes tests/golden/tiny_{llama,qwen2,qwen3,qwen3_moe}: seeded random checkpoints in the Hugging Face layout with the
logits and greedy tokens of transformers, for architectures whose real weights cannot be had for tests.

    pip install torch transformers safetensors
    python tools/make_tiny_models.py [tests/golden]

Weights are stored in BF16 and widened to f32 for the values, computed on a CPU with eager attention. A prompt is the first
of its length (by seed) whose greedy path is clear of ties: every step's best logit leads by MIN_GAP.

goldens/goldens.json         prompts.NAME: ids, greedy (32 tokens, stop tokens do not end it), gaps, smallest_gap
goldens/goldens.safetensors  last_logits.NAME [V] for every prompt, all_logits.NAME [T, V] for len_5 and len_65; F32
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config, Qwen3MoeConfig

VOCAB = 320
LENGTHS = [1, 2, 5, 64, 65, 130, 200]
CONTINUE = 32
MIN_GAP = 0.05
SEED = 20260
FIRST_SPECIAL = 300
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["t h", "th e", "Ġ t", "i n", "Ġ a", "e r", "o n", "r e", "Ġt he", "a n", "e n", "o r", "Ġ w", "Ġ s", "i s", "a t", "e s", "Ġ o",
          "in g", "h e", "Ġ c", "o u", "Ġ b", "Ġ f", "l l", "Ġ i", "e d", "Ġa n", "Ġan d", "ä ½", "ä½ ł", "å ¥", "å¥ ½", "ä ¸", "Ġ 1", "! !"]
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEMPLATE = ("{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}")
COMMON = dict(vocab_size=VOCAB, num_hidden_layers=2, num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-6,
              bos_token_id=FIRST_SPECIAL, eos_token_id=FIRST_SPECIAL + 2, pad_token_id=FIRST_SPECIAL, dtype="bfloat16")
CONFIGS = {
    # width of a head ≠ hidden / heads; own head
    "qwen3": Qwen3Config(hidden_size=64, intermediate_size=96, num_attention_heads=4, head_dim=32, tie_word_embeddings=False,
                         rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}, **COMMON),
    "qwen3_moe": Qwen3MoeConfig(hidden_size=64, intermediate_size=96, moe_intermediate_size=32, num_experts=6, num_experts_per_tok=2,
                                norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[], num_attention_heads=4, head_dim=32,
                                tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}, **COMMON),
    # biases on q, k, v; tied head
    "qwen2": Qwen2Config(hidden_size=96, intermediate_size=96, num_attention_heads=6, tie_word_embeddings=True, use_sliding_window=False,
                         rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, **COMMON),
    # Llama-3 rope scaling, with frequencies on both sides of its limits
    "llama": LlamaConfig(hidden_size=64, intermediate_size=128, num_attention_heads=4, head_dim=32, tie_word_embeddings=False,
                         rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                          "high_freq_factor": 4.0, "original_max_position_embeddings": 64}, **COMMON),
}


def byte_letters():
    """Byte-level BPE's printable letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, spare = {}, 256
    for b in range(256):
        letters[b] = chr(b if b in printable else spare)
        spare += b not in printable
    return letters


def write_tokenizer(folder):
    vocab = {letter: i for i, letter in enumerate(byte_letters().values())}
    for m in MERGES:
        vocab[m.replace(" ", "")] = len(vocab)
    assert len(vocab) <= FIRST_SPECIAL
    added = [{"id": FIRST_SPECIAL + i, "content": s, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, s in enumerate(SPECIALS)]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [m.split(" ") for m in MERGES]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, indent=1))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "add_bos_token": False, "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "model_max_length": 512,
        "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}, indent=1))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "generation_config.json").write_text(json.dumps({
        "bos_token_id": FIRST_SPECIAL, "eos_token_id": [FIRST_SPECIAL + 2, FIRST_SPECIAL], "pad_token_id": FIRST_SPECIAL}, indent=1))


def make_weights(config):
    """Large enough to be decided: matrices with rows of norm about 1.5 (the head's, and so a tied embedding's, 6), norm weights
    around 1, biases around 0."""
    torch.manual_seed(SEED)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if name.endswith("norm.weight"):
                p.copy_(1 + 0.2 * torch.randn_like(p))
            elif name.endswith("bias"):
                p.copy_(0.5 * torch.randn_like(p))
            else:
                head = name == "lm_head.weight" or (config.tie_word_embeddings and name == "model.embed_tokens.weight")
                p.copy_((6 if head else 1.5) * torch.randn_like(p) / p.shape[-1] ** 0.5)
            p.copy_(p.to(torch.bfloat16).float())
    model.tie_weights()
    return model


@torch.no_grad()
def greedy(model, ids):
    """None at the first near-tie."""
    out, gaps, cache, step = [], [], None, torch.tensor([ids])
    for _ in range(CONTINUE):
        r = model(step, past_key_values=cache, use_cache=True)
        cache = r.past_key_values
        two = r.logits[0, -1].topk(2)
        out.append(int(two.indices[0]))
        gaps.append(round(float(two.values[0] - two.values[1]), 4))
        if gaps[-1] < MIN_GAP:
            return None
        step = torch.tensor([[out[-1]]])
    return out, gaps


def clear_prompt(model, length):
    for seed in range(1000):
        g = torch.Generator().manual_seed(1000 * length + seed)
        ids = torch.randint(0, FIRST_SPECIAL - 8, (length,), generator=g).tolist()
        path = greedy(model, ids)
        if path:
            return ids, *path
    raise SystemExit(f"no prompt of {length} tokens without near-ties")


@torch.no_grad()
def goldens(model):
    told, tensors = {"prompts": {}}, {}
    for name, length in ((f"len_{n}", n) for n in LENGTHS):
        ids, out, gaps = clear_prompt(model, length)
        logits = model(torch.tensor([ids])).logits[0]
        told["prompts"][name] = {"ids": ids, "greedy": out, "gaps": gaps, "smallest_gap": min(gaps)}
        tensors[f"last_logits.{name}"] = logits[-1].clone()
        if name in ("len_5", "len_65"):
            tensors[f"all_logits.{name}"] = logits.clone()
    return told, tensors


def make(name, config, root):
    folder = root / f"tiny_{name}"
    model = make_weights(config)
    told, tensors = goldens(model)
    (folder / "goldens").mkdir(parents=True, exist_ok=True)
    # What is stored must give what is told: write BF16, read it back in the official loader, compare.
    model.to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)
    again = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        difference = max(float((again(torch.tensor([p["ids"]])).logits[0, -1] - tensors[f"last_logits.{n}"]).abs().max())
                         for n, p in told["prompts"].items())
    assert difference < 1e-5, difference
    stored = load_file(folder / "model.safetensors")
    assert all(t.dtype == torch.bfloat16 for t in stored.values())
    save_file({k: v.contiguous() for k, v in sorted(tensors.items())}, folder / "goldens" / "goldens.safetensors")
    (folder / "goldens" / "goldens.json").write_text(json.dumps(told))
    for f in folder.rglob("*.safetensors"):
        f.chmod(0o644)
    smallest = min(p["smallest_gap"] for p in told["prompts"].values())
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    print(f"{name}: smallest gap {smallest}, logits up to {max(float(t.abs().max()) for t in tensors.values()):.1f}, "
          f"{len(stored)} tensors, {size} bytes; reload differs by {difference:.1e}")


def main():
    torch.set_num_threads(1)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests" / "golden")
    for name, config in CONFIGS.items():
        make(name, config, root)


if __name__ == "__main__":
    main()
