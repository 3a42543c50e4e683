"""Reads and writes .safetensors with the standard library alone (F32, raw bytes otherwise)."""
import array
import json
import struct


def read(path):
    """{name: (dtype, shape, bytes)} of a file."""
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            out[name] = (t["dtype"], t["shape"], data[8 + n + begin : 8 + n + end])
    return out


def floats(tensor):
    dtype, _, raw = tensor
    assert dtype == "F32"
    return array.array("f", raw)


def write(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, raw in tensors.values()))
