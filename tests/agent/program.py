"""Starts the program under test. Standard library only."""
import os
import subprocess
import sys

PROGRAM = ""

# A small decoder whose step is modelled; about 15 million parameters.
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 32000,
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def take_program():
    """The path of the program is the first argument; the rest is unittest's."""
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit("usage: TEST.py PROGRAM [unittest arguments]")
    PROGRAM = os.path.abspath(sys.argv.pop(1))


def environment(**extra):
    """What a test may depend on: nothing of the person's own hub settings, colours or width."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_") and k not in ("NO_COLOR", "COLUMNS")}
    for proxy in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        kept.pop(proxy, None)
    kept.update(extra)
    return kept


class Said:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def run(*words, stdin=b"", env=None, cwd=None, timeout=60):
    done = subprocess.run([PROGRAM, *words], input=stdin, capture_output=True, env=env or environment(),
                          cwd=cwd, timeout=timeout)
    return Said(done)
