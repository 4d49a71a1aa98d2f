"""Writes what the fuzzers start from: make_seeds.py FOLDER, in the project's root.

FOLDER/config, FOLDER/setup and FOLDER/call get one file per input of tests/cases, tests/errors and the
configs of tests/timelines/data; FOLDER/words.dict every key and name that core's sources and tables
know.
"""
import hashlib
import json
import pathlib
import re
import sys

BETWEEN = b"\x1e"  # of fuzz_call.cpp
LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
MAX_WORD = 48


def as_bytes(value):
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value).encode()


def fewer_layers(config):
    """The same model with two layers: the fuzzer runs whole steps."""
    if not isinstance(config, dict):
        return config
    short = {key: fewer_layers(value) for key, value in config.items()}
    for key in LAYER_KEYS:
        if isinstance(short.get(key), int):
            short[key] = min(short[key], 2)
    if isinstance(short.get("layer_types"), list):
        short["layer_types"] = short["layer_types"][:2]
    return short


def inputs():
    """Yields (door, bytes)."""
    for path in sorted(pathlib.Path("tests/timelines/data").glob("*.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        yield "config", as_bytes(config)
        for setup in ({"method": "qlora"}, {"method": "lora", "gradient_checkpointing": True},
                      {"method": "full", "max_length": 8192, "gpu": "T4"}):
            yield "call", as_bytes(fewer_layers(config)) + BETWEEN + as_bytes(setup)
    yield "call", as_bytes(fewer_layers(config)) + BETWEEN + as_bytes({"gpu": "T4"}) + BETWEEN
    for folder in ("tests/cases", "tests/errors"):
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            case = json.loads(path.read_text(encoding="utf-8"))
            config = bytes.fromhex(case["config_hex"]) if "config_hex" in case else case.get("config")
            setup = case.get("setup")
            if config is not None:
                yield "config", config if isinstance(config, bytes) else as_bytes(config)
            if setup is not None:
                yield "setup", as_bytes(setup)
            if isinstance(config, dict):
                yield "call", as_bytes(fewer_layers(config)) + BETWEEN + as_bytes(setup or {})
    for op in ("gpus", "setup_keys", "version", "no such"):
        yield "call", as_bytes({"schema": 1, "op": op})
    yield "call", as_bytes({"schema": 1, "op": "fit", "config": "{}", "setup": {}, "changes": True})


def words():
    """Every word in quotes of the readers' sources, and every word of the tables."""
    found = set()
    for folder in ("parse", "architecture", "train", "estimate"):
        for path in pathlib.Path("core/src", folder).glob("*.*"):
            text = path.read_text(encoding="utf-8")
            found.update(re.findall(r'"([A-Za-z0-9_.]{2,})"', text))
            found.update(word for line in re.findall(r'"([a-z0-9_ |]+\| ?[a-z0-9_ |]*)"', text)
                         for word in re.findall(r"\w+", line))
    for path in pathlib.Path("core/data").glob("*.json"):
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            texts = [value for key, value in row.items() if key != "source"]
            found.update(re.findall(r"[A-Za-z_][A-Za-z0-9_.]+", json.dumps(texts)))
        if path.stem == "gpus":
            found.update(row["name"] for row in json.loads(path.read_text())["rows"])
    return sorted(word for word in found if len(word) <= MAX_WORD)


def main():
    folder = pathlib.Path(sys.argv[1])
    for door in ("config", "setup", "call"):
        (folder / door).mkdir(parents=True, exist_ok=True)
    for door, content in inputs():
        (folder / door / hashlib.sha1(content).hexdigest()).write_bytes(content)
    numbers = ["-1", "0", "1e999", "9223372036854775807", "9223372036854775808", "NaN", "-Infinity"]
    lines = [f'"\\"{word}\\""' for word in words()]
    lines += [f'"{word}"' for word in numbers + ["true", "null", "[[", "{}", "\\x1e", "\\x00"]]
    (folder / "words.dict").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
