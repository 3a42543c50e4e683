"""A broken checkpoint, flag or environment ends the start with one plain message: what was found, expected, and to do."""
import json
import os
import shutil
import socket
import struct
import subprocess

import pytest

import safetensors_io
from conftest import HEARTH, TINY_DENSE, TINY_FP8, TINY_MOE, free_port, need_model


def start(*args, timeout=60, env=None):
    return subprocess.run([str(HEARTH), "serve", *map(str, args), "--host", "127.0.0.1", "--port", str(free_port())],
                          capture_output=True, text=True, timeout=timeout, env=env)


def refused(result, *words, code=1):
    text = result.stderr
    assert result.returncode == code, f"exit {result.returncode}\n{text}"
    for word in words:
        assert word in text, f"'{word}' is not in:\n{text}"
    assert "Traceback" not in text and "terminate called" not in text and "Aborted" not in text
    return text


@pytest.fixture
def dense(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(TINY_DENSE, folder)
    return folder


@pytest.fixture
def fp8(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(TINY_FP8, folder)
    return folder


def shards(folder):
    return sorted(folder.glob("model-*.safetensors"))


def edit_shard(path, change):
    tensors = safetensors_io.read(path)
    change(tensors)
    safetensors_io.write(path, tensors)


def shard_with(folder, tensor):
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    return folder / index["weight_map"][tensor]


Q_PROJ = "model.language_model.layers.3.self_attn.q_proj.weight"
NORM = "model.language_model.norm.weight"


def test_truncated_shard(dense):
    path = shards(dense)[1]
    path.write_bytes(path.read_bytes()[:-1000])
    refused(start(dense), path.name, "expected", "found")


def test_shard_with_extra_bytes_at_its_end(dense):
    path = shards(dense)[0]
    path.write_bytes(path.read_bytes() + b"\0" * 64)
    refused(start(dense), path.name)


def test_missing_shard_named_by_the_index(dense):
    path = shards(dense)[1]
    path.unlink()
    refused(start(dense), path.name)


def test_absent_tensor(dense):
    path = shard_with(dense, NORM)
    edit_shard(path, lambda t: t.pop(NORM))
    refused(start(dense), NORM)


def test_extra_tensor(dense):
    path = shards(dense)[0]
    edit_shard(path, lambda t: t.update({"model.language_model.layers.0.surprise.weight": ("F32", [1], b"\0\0\0\0")}))
    index = json.loads((dense / "model.safetensors.index.json").read_text())
    index["weight_map"]["model.language_model.layers.0.surprise.weight"] = path.name
    (dense / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(start(dense), "surprise")


def test_misshaped_tensor(dense):
    path = shard_with(dense, Q_PROJ)

    def change(tensors):
        dtype, (rows, cols), raw = tensors[Q_PROJ]
        tensors[Q_PROJ] = (dtype, [cols, rows], raw)

    edit_shard(path, change)
    refused(start(dense), Q_PROJ, "128")


@pytest.mark.parametrize("byte", [0, 3, 7, 8, 20, 100])
def test_bit_flipped_in_a_header(dense, byte):
    path = shards(dense)[0]
    data = bytearray(path.read_bytes())
    data[byte] ^= 0x41
    path.write_bytes(bytes(data))
    refused(start(dense), path.name)


def test_header_length_larger_than_the_file(dense):
    path = shards(dense)[0]
    path.write_bytes(struct.pack("<Q", 1 << 62) + path.read_bytes()[8:])
    refused(start(dense), path.name)


def test_absent_scale(fp8):
    name = "model.language_model.layers.2.self_attn.q_proj.weight_scale_inv"
    path = shard_with(fp8, name)
    edit_shard(path, lambda t: t.pop(name))
    refused(start(fp8), "weight_scale_inv", "q_proj")


def test_nan_among_the_scales(fp8):
    name = "model.language_model.layers.2.self_attn.q_proj.weight_scale_inv"

    def change(tensors):
        dtype, shape, raw = tensors[name]
        tensors[name] = (dtype, shape, b"\xc0\x7f" + raw[2:])  # BF16 NaN

    edit_shard(shard_with(fp8, name), change)
    refused(start(fp8), "NaN", "q_proj")


def test_nan_among_the_block_scales_of_a_gguf(tmp_path):
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "damaged.gguf"
    shutil.copy(need_model("SmolLM2-135M-Instruct.Q4_1.gguf"), path)
    tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.3.ffn_up.weight")
    assert tensor.tensor_type == gguf.GGMLQuantizationType.Q4_1
    with open(path, "r+b") as f:
        f.seek(int(tensor.data_offset) + 40 * 20 + 2)  # the minimum of block 40, 18 blocks of 32 a row
        f.write(b"\x00\x7e")
    refused(start(path, "--max-model-len", "64"), "damaged.gguf", "layers.3.mlp.up_proj.weight", "row 2 is NaN")


def test_nan_among_the_weights_of_a_norm(dense):
    def change(tensors):
        dtype, shape, raw = tensors[NORM]
        tensors[NORM] = (dtype, shape, b"\xc0\x7f" + raw[2:])  # BF16 NaN

    edit_shard(shard_with(dense, NORM), change)
    refused(start(dense), NORM, "number 0 is NaN")


def test_unknown_architecture(dense):
    config = json.loads((dense / "config.json").read_text())
    config["model_type"] = "perceiver"
    config["architectures"] = ["PerceiverModel"]
    (dense / "config.json").write_text(json.dumps(config))
    refused(start(dense), "perceiver", "qwen3_5")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "generation_config.json", "tokenizer_config.json",
                                  "model.safetensors.index.json"])
def test_broken_json_file(dense, name):
    path = dense / name
    path.write_text(path.read_text()[: len(path.read_text()) // 2])
    refused(start(dense), name)


MODEL_FILES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
               "model.safetensors.index.json", "model-00001-of-00002.safetensors"]


@pytest.mark.parametrize("kind", ["link to nothing", "link in a circle", "folder", "pipe"])
@pytest.mark.parametrize("name", MODEL_FILES)
def test_file_that_is_there_and_cannot_be_read(dense, name, kind):
    path = dense / name
    path.unlink()
    if kind == "link to nothing":
        path.symlink_to("../../blobs/0123")  # an incomplete hub cache looks like this
    elif kind == "link in a circle":
        path.symlink_to(name)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    words = {"link to nothing": ["blobs/0123", "fetch the file again"], "link in a circle": ["levels of symbolic links"],
             "folder": ["found a folder"], "pipe": ["expected a regular file"]}[kind]
    refused(start(dense, "--dry-run"), name, *words)


@pytest.mark.parametrize("name", MODEL_FILES)
def test_empty_file(dense, name):
    (dense / name).write_bytes(b"")
    refused(start(dense, "--dry-run"), name)


@pytest.mark.parametrize("template", [5, {}, [{"name": 5, "template": "x"}], [{"name": "default", "template": 5}]])
def test_chat_template_of_another_type(dense, template):
    (dense / "chat_template.jinja").unlink()
    config = json.loads((dense / "tokenizer_config.json").read_text())
    config["chat_template"] = template
    (dense / "tokenizer_config.json").write_text(json.dumps(config))
    refused(start(dense, "--dry-run"), "tokenizer_config.json", "chat_template", "default")
    refused(start(dense, "--dry-run", "--chat-template", dense), str(dense), "directory")


@pytest.mark.parametrize("eos", ["x", 1.5, -1, 2**40, [3, "x"]])
def test_end_token_of_another_type(dense, eos):
    config = json.loads((dense / "generation_config.json").read_text())
    config["eos_token_id"] = eos
    (dense / "generation_config.json").write_text(json.dumps(config))
    refused(start(dense), "eos_token_id")


@pytest.mark.parametrize("key, value", [("temperature", -1), ("temperature", "hot"), ("top_p", 0), ("top_p", 1.5), ("top_k", -2),
                                        ("top_k", 2.5), ("min_p", 2), ("repetition_penalty", 0), ("max_new_tokens", 0)])
def test_sampling_default_out_of_range(dense, key, value):
    (dense / "generation_config.json").write_text(json.dumps({key: value}))
    refused(start(dense, "--dry-run"), f"{key} must be a", json.dumps(value))


def test_missing_config(dense):
    (dense / "config.json").unlink()
    refused(start(dense), "config.json")


def test_missing_tokenizer(dense):
    (dense / "tokenizer.json").unlink()
    refused(start(dense), "tokenizer.json")


def test_tokenizer_with_an_unknown_model(dense):
    path = dense / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["type"] = "Telepathy"
    path.write_text(json.dumps(tokenizer))
    refused(start(dense), "tokenizer.json", "Telepathy")


@pytest.mark.parametrize("template", ["{% for m in messages %}", "{{ messages | unheard_of }}", "{{ x is unheard_of }}"])
def test_broken_template(dense, template):
    (dense / "chat_template.jinja").write_text("line one\n" + template)
    text = refused(start(dense), "template")
    assert "line 2" in text


def test_missing_folder(tmp_path):
    refused(start(tmp_path / "nothing_here"), "nothing_here")


def test_hub_id_that_is_not_in_the_cache(tmp_path):
    refused(start("someone/some-model", env={**os.environ, "HF_HUB_CACHE": str(tmp_path)}), "someone/some-model", str(tmp_path))


def test_truncated_gguf(tmp_path):
    data = need_model("SmolLM2-135M-Instruct.Q4_1.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(data[: len(data) // 2])
    refused(start(path), "cut.gguf")
    path.write_bytes(data[:5000])
    refused(start(path), "cut.gguf")
    path.write_bytes(b"GGUF" + b"\xff" * 100)
    refused(start(path), "cut.gguf")


def test_unknown_flag_suggests_the_nearest():
    refused(start(TINY_DENSE, "--max-model-length", "512"), "--max-model-length", "--max-model-len", code=2)


def test_model_larger_than_memory_is_refused_before_loading():
    text = refused(start(TINY_MOE, "--memory", "1MiB"))
    assert "MiB" in text or "bytes" in text


def test_port_taken():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        result = subprocess.run([str(HEARTH), "serve", str(TINY_DENSE), "--host", "127.0.0.1", "--port", str(port)],
                                capture_output=True, text=True, timeout=60)
    refused(result, str(port))


def test_two_servers_on_one_port(serve):
    first = serve(TINY_DENSE)
    result = subprocess.run([str(HEARTH), "serve", str(TINY_DENSE), "--host", "127.0.0.1", "--port", str(first.port)],
                            capture_output=True, text=True, timeout=60)
    refused(result, str(first.port))
    first.wait_ready()
