"""`peakline fit` as a person meets it: sources, options, refusals, and what a terminal or a pipe is shown."""
import gzip
import json
import os
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest

import program
from program import environment, run

ANSWERS = {"fits": 0, "does_not_fit": 1, "too_close": 2}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

# words -> exit code, what stderr must say; CONFIG stands for a good config.json
REFUSALS = [
    ([], 64, ["COMMAND"]),
    (["plan", "x"], 64, ["E0701", "no such command"]),
    (["fti", "x"], 64, ["E0701", "did you mean peakline fit?"]),
    (["org/name"], 64, ["E0701", "peakline fit org/name"]),
    (["fit"], 64, ["E0705", "MODEL"]),
    (["fit", "CONFIG", "CONFIG"], 64, ["E0704"]),
    (["fit", "CONFIG", "--max-lenght", "8"], 64, ["E0702", "--max-lenght", "did you mean --max-length?"]),
    (["fit", "CONFIG", "--learning_rate", "1"], 64, ["E0702", "changes no memory"]),
    (["fit", "CONFIG", "--batch"], 64, ["E0705", "--batch"]),
    (["fit", "CONFIG", "--batch", "four"], 64, ["E0703", "--batch", '"four"', "whole number"]),
    (["fit", "CONFIG", "--batch", "0"], 64, ["E0303", "--batch", "got the number 0"]),
    (["fit", "CONFIG", "--batch", "1", "--batch", "2"], 64, ["E0704", '"1" and "2"']),
    (["fit", "CONFIG", "--method", "qlra"], 64, ["E0304", "--method", "qlora"]),
    (["fit", "CONFIG", "--ckpt=perhaps"], 64, ["E0703", "true or false"]),
    (["fit", "CONFIG", "--ckpt", "maybe"], 64, ["E0703", "--ckpt", '"maybe"', "true or false"]),
    (["fit", "-c", "maybe", "CONFIG"], 64, ["E0703", "-c", '"maybe"', "true or false"]),
    (["fit", "CONFIG", "--json=maybe"], 64, ["E0703", "--json", '"maybe"', "true or false"]),
    (["fit", "CONFIG", "--json", "maybe"], 64, ["E0703", "--json", '"maybe"', "true or false"]),
    (["fit", "CONFIG", "--setup", "a.json", "--setup", "b.json"], 64, ["E0704", "--setup", '"a.json" and "b.json"']),
    (["fit", "CONFIG", "--ckpt", "--no-ckpt"], 64, ["E0704", '"true" and "false"']),
    (["fit", "CONFIG", "--gpu", "RTX 4091"], 64, ["E0306", "--gpu", "RTX 4090", "--vram"]),
    (["fit", "CONFIG", "--gpu", "A100x4"], 64, ["E0306", "A100 40GB", "A100 80GB"]),
    (["fit", "CONFIG", "--gpu", "RTX 3080"], 64, ["E0306", '"RTX 3080 10GB" or "RTX 3080 12GB"', "--vram"]),
    (["fit", "CONFIG", "--gpu", "RTX 3075"], 64, ["E0306", '"RTX 3070 8GB" or ', " or others?", "--vram"]),
    (["fit", "CONFIG", "--gpu", "RTX 4090 Ti"], 64, ["E0306", '"RTX 4090 24GB"', "--vram"]),
    (["fit", "CONFIG", "--gpu", "A100 60"], 64, ["E0306", '"A100 40GB" or "A100 80GB"', "--vram"]),
    (["fit", "CONFIG", "--gpu", "MI300X"], 64, ["E0306", "for a card that is not listed", "--vram"]),
    (["fit", "CONFIG", "--gpu", "custom"], 64, ["E0305", "--vram"]),
    (["fit", "CONFIG", "--targets", "foo"], 64, ["E0305", "target", '"foo"', "q_proj"]),
    (["timeline", "CONFIG", "--targets", "foo"], 64, ["E0305", "target", '"foo"', "q_proj"]),
    (["fit", "CONFIG", "--targets", "q_proj,all-linear"], 64, ["E0304", "target", "all-linear"]),
    (["fit", "CONFIG", "--gpu", ""], 64, ["E0705", "--gpu"]),
    (["fit", "CONFIG", "--vram", "24GB"], 64, ["E0703", "--vram", "24564MiB"]),
    (["fit", "CONFIG", "--gpu", "T4", "--vram", "16"], 64, ["E0704"]),
    (["fit", "CONFIG", "--bf16", "--autocast", "fp16"], 64, ["E0704", "--bf16"]),
    (["fit", "CONFIG", "--bf16", "--fp16"], 64, ["E0704", "--fp16", "--bf16"]),
    (["fit", "CONFIG", "--bf16", "--no-bf16"], 64, ["E0704", "--bf16"]),
    (["fit", "CONFIG", "--bf16", "false", "--autocast", "bf16"], 64, ["E0704", "--bf16", "--autocast"]),
    (["fit", "CONFIG", "--load-in-4bit", "false", "--method", "qlora"], 64, ["E0704", "--load-in-4bit", "--method"]),
    (["fit", "CONFIG", "--no-load-in-4bit", "--setup", "qlora.json"], 64, ["E0704", "--load-in-4bit", "qlora"]),
    (["fit", "CONFIG", "--why", "activation"], 64, ["E0703", "--why", '"activation"', "did you mean activations?"]),
    (["fit", "CONFIG", "--why", "nothing-like-it"], 64, ["E0703", "--why", "R040", "alone it explains everything"]),
    (["fit", "--why", "CONFIG", "--json"], 64, ["E0704", "--why", "provenance"]),
    (["fit", "CONFIG", "--revision", "main"], 64, ["E0704", "--revision"]),
    (["fit", "CONFIG", "--setup", "missing.json"], 65, ["E0501", "missing.json"]),
    (["fit", "CONFIG", "--setup", "packed.json.gz"], 65, ["E0502", "packed.json.gz", "gzip", "gunzip"]),
    (["fit", "packed.json.gz"], 65, ["E0502", "packed.json.gz", "gzip", "gunzip"]),
    (["fit", "-", "--setup", "-"], 64, ["E0704", "standard input"]),
    (["fit", "missing.json"], 65, ["E0501", "missing.json"]),
    (["fit", "./missing"], 65, ["E0501", "./missing"]),
    (["fit", "confg.json"], 65, ["E0501", "did you mean config.json?"]),
    (["fit", "a b"], 65, ["E0501"]),
    (["fit", "empty"], 65, ["E0501", "no config.json"]),
    (["fit", "adapter"], 65, ["E0501", "adapter of org/base"]),
    (["fit", "nameless"], 65, ["E0501", "adapter_config.json"]),
    (["fit", "gguf"], 65, ["E0501", "GGUF"]),
    (["fit", "model.safetensors"], 65, ["E0502", "weights"]),
    (["fit", "zero.json"], 65, ["E0102"]),
    (["fit", "junk.json"], 65, ["junk.json: line 1, column 1"]),
    (["fit", "list.json"], 65, ["E0107"]),
    (["fit", "cut.json"], 65, ["E0101", "cut.json: line 2", "| "]),
    (["fit", "types.json"], 65, ["types.json: /hidden_size", "types.json: /num_hidden_layers"]),
    (["fit", "large.json"], 65, ["E0105"]),
    (["fit", "/dev/zero"], 65, ["E0502", "a device"]),
    (["fit", "pipe"], 65, ["E0502", "a named pipe", "- < pipe"]),
    (["fit", "CONFIG", "--setup", "pipe"], 65, ["E0502", "a named pipe"]),
    (["fit", "folder-of-pipe"], 65, ["E0502", "a named pipe"]),
    (["fit", "CONFIG", "--setup", "empty"], 65, ["E0502", "a folder"]),
    (["timeline", "diff", "pipe", "empty"], 65, ["E0502", "a named pipe", "a folder"]),
    (["fit", "zero-byte.json"], 65, ["E0101", "zero-byte.json: line 2, column 1", "zero byte"]),
    (["serve", "extra"], 64, ["E0704"]),
    (["serve", "--port", "x"], 64, ["E0703", "--port", '"x"', "0 to 65535"]),
]


def read_terminal(words, env, columns):
    """What a terminal of that width receives, and the exit code."""
    parent, child = pty.openpty()
    subprocess.run(["stty", "-F", os.ttyname(child), "cols", str(columns), "-opost"], check=True)
    process = subprocess.Popen([program.PROGRAM, *words], stdout=child, stderr=child, stdin=child, env=env)
    os.close(child)
    got = b""
    while True:
        ready, _, _ = select.select([parent], [], [], 20)
        try:
            chunk = os.read(parent, 65536) if ready else b""
        except OSError:
            break
        if not chunk:
            break
        got += chunk
    os.close(parent)
    return process.wait(), got.decode()


class Fit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.config = cls.write("config.json", json.dumps(program.CONFIG))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, content):
        path = os.path.join(cls.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def fit(self, *words, **kwargs):
        return run("fit", *words, cwd=self.folder.name, **kwargs)

    def report(self, *words, **kwargs):
        said = self.fit(*words, "--json", **kwargs)
        self.assertIn(said.code, (0, 1, 2), said)
        self.assertEqual(said.err, "")
        return json.loads(said.out)

    def test_a_file_a_folder_and_standard_input_are_the_same_question(self):
        expected = self.report("config.json")
        self.assertEqual(expected["schema"], 1)
        self.assertEqual(self.report("."), expected)
        self.assertEqual(self.report(self.folder.name), expected)
        self.assertEqual(self.report("file://" + self.config), expected)
        self.assertEqual(self.report("-", stdin=json.dumps(program.CONFIG).encode()), expected)

    def test_the_exit_code_is_the_answer(self):
        seen = set()
        for vram in ("0.25", "1", "2", "4", "80"):
            said = self.fit("config.json", "--vram", vram, "--length", "512", "--json")
            answer = json.loads(said.out)["verdict"]["answer"]
            self.assertEqual(said.code, ANSWERS[answer], (vram, answer))
            seen.add(answer)
        self.assertLessEqual({"fits", "does_not_fit"}, seen)

    def test_options_file_and_names_of_other_programs_agree(self):
        setup = self.write("setup.json", json.dumps({
            "method": "qlora", "per_device_train_batch_size": 2, "max_length": 512, "gradient_checkpointing": True,
            "autocast": "bf16", "lora": {"r": 8, "target_modules": ["q_proj", "v_proj"]},
            "gpu": {"name": "RTX 3090"}}))
        expected = self.report("config.json", "--setup", setup)
        spellings = [
            "-m qlora -b 2 -l 512 -c --autocast bf16 -r 8 --targets q_proj,v_proj -g 3090",
            "--method qlora --batch 2 --length 512 --ckpt --bf16 --rank 8 --lora-target-modules q_proj,v_proj "
            "--gpu rtx-3090",
            "--load_in_4bit --per_device_train_batch_size 2 --max_seq_length 512 --gradient_checkpointing True "
            "--bf16 True --lora_r 8 --target_modules q_proj,v_proj --gpu.name RTX3090",
        ]
        for spelling in spellings:
            with self.subTest(spelling):
                report = self.report("config.json", *spelling.split())
                self.assertEqual(report["setup"], expected["setup"])
                self.assertEqual(report["memory"], expected["memory"])

    def test_all_linear_is_the_default_of_target_modules(self):
        expected = self.report("config.json")
        report = self.report("config.json", "--targets", "all-linear")
        for part in ("model", "setup", "memory", "verdict", "notes"):
            self.assertEqual(report[part], expected[part])
        self.assertGreater(expected["model"]["num_trainable_parameters"], 0)

    def test_a_step_that_is_not_modelled_is_no_bad_data(self):
        said = run("timeline", "config.json", "--packing", cwd=self.folder.name)
        self.assertEqual((said.code, said.out), (2, ""), said)
        self.assertIn("E0402", said.err)

    def test_an_option_wins_over_the_file(self):
        setup = self.write("setup.json", '{"max_length": 512, "gpu": {"name": "T4", "used_by_others_bytes": 5}}')
        report = self.report("config.json", "--setup", setup, "--length", "256", "--gpu", "RTX 3090")
        self.assertEqual(report["setup"]["max_length"], 256)
        self.assertEqual(report["setup"]["gpu"]["used_by_others_bytes"], 0)

    def test_two_cards_are_counted_and_not_modelled(self):
        said = self.fit("config.json", "--gpu", "RTX 3090x2", "--json")
        report = json.loads(said.out)
        gpu = report["setup"]["gpu"]
        self.assertEqual((gpu["count"], "3090" in gpu["name"]), (2, True))
        self.assertEqual(said.code, 2)
        self.assertIn("Not modelled yet", report["verdict"]["sentence"])
        help_text = " ".join(run("fit", "--help-all").out.split())
        self.assertIn('Several ("A100 80GBx4") are read and not modelled yet', help_text)
        self.assertIn("Several cards (not modelled yet)", help_text)

    def test_a_switch_of_another_program_that_is_denied_is_not_ignored(self):
        autocast = {
            "": "bf16", "--bf16 false": None, "--no-bf16": None, "--bf16 False --fp16 False": None,
            "--no-fp16": "bf16", "--bf16 false --fp16": "fp16", "--bf16 --fp16 false": "bf16",
            "--bf16 false --autocast fp16": "fp16", "--no-fp16 --gpu T4": None, "--no-bf16 --gpu T4": "fp16",
            "--bf16 false --dtype float32": None, "--no-fp16 --setup fp16.json": None,
            "--no-bf16 --setup fp16.json": "fp16"}
        self.write("fp16.json", '{"autocast": "fp16"}')
        for words, expected in autocast.items():
            with self.subTest(words):
                self.assertEqual(self.report("config.json", *words.split())["setup"]["autocast"], expected)
        for words in ("--load-in-4bit false", "--no-load-in-4bit --method full"):
            method = self.report("config.json", *words.split())["setup"]["method"]
            self.assertEqual(method, "full" if "full" in words else "lora")

    def test_what_makes_a_run_not_modelled_is_not_said_to_have_no_effect(self):
        report = self.report("config.json", *"--load-in-8bit --method full".split())
        self.assertIsNone(report["memory"])
        self.assertFalse([note for note in report["notes"] if "load_in_8bit has no effect" in note])
        for words in ("--load-in-8bit", "--method qlora --load-in-8bit"):
            with self.subTest(words):
                report = self.report("config.json", *words.split())
                self.assertIsNotNone(report["memory"])
                self.assertFalse([note for note in report["notes"] if "has no effect" in note])
        # And what has no effect does not keep a run from being modelled.
        for words in ("--lora-use-dora", "--lora-bias all", "--modules-to-save lm_head"):
            with self.subTest(words):
                report = self.report("config.json", "--method", "full", *words.split())
                self.assertIsNotNone(report["memory"])
                self.assertTrue([note for note in report["notes"] if "has no effect" in note])

    def test_a_report_is_a_setup(self):
        words = "--gpu T4 --method full --length 256 --optim sgd".split()
        first = self.report("config.json", *words)
        self.write("report.json", json.dumps(first))
        self.write("of-report.json", json.dumps(first["setup"]))
        self.assertEqual(self.report("config.json", "--setup", "report.json"), first)
        again = self.report("config.json", "--setup", "of-report.json")
        for part in ("setup", "memory", "verdict", "notes"):
            self.assertEqual(again[part], first[part])
        # Defaults follow the new method and card; what was asked for stays.
        expected = self.report("config.json", *"--gpu 4090 --method lora --length 256 --optim sgd".split())
        for name in ("report.json", "of-report.json"):
            with self.subTest(name):
                other = self.report("config.json", "--setup", name, "--gpu", "4090", "--method", "lora")
                self.assertEqual(other["setup"], expected["setup"])
                self.assertEqual(other["notes"], expected["notes"])
        first["setup"]["max_length"] = "long"
        first["setup"]["lenght"] = 1
        self.write("report.json", json.dumps(first))
        said = self.fit("config.json", "--setup", "report.json")
        self.assertEqual(said.code, 65, said)
        self.assertIn("report.json: /setup/max_length", said.err)
        self.assertIn("report.json: /setup/lenght", said.err)

    def test_a_pipe_of_the_shell_is_read(self):
        script = f'"$0" fit <(cat {self.config}) --setup <(echo "{{}}") --json'
        done = subprocess.run(["bash", "-c", script, program.PROGRAM], capture_output=True, env=environment(),
                              timeout=20)
        self.assertEqual(json.loads(done.stdout), self.report("config.json"))
        done = subprocess.run([program.PROGRAM, "fit", "/dev/stdin", "--json"], capture_output=True,
                              input=json.dumps(program.CONFIG).encode(), env=environment(), timeout=20)
        self.assertEqual(json.loads(done.stdout), self.report("config.json"))

    def test_a_report_stays_small_whatever_the_config_says(self):
        long = "\u00e9" * 50_000
        for name, config in (("type", dict(program.CONFIG, model_type=long)),
                             ("class", dict(program.CONFIG, architectures=[long])),
                             ("activation", dict(program.CONFIG, hidden_act=long)),
                             ("dtype", dict(program.CONFIG, torch_dtype=long)),
                             ("quantised", dict(program.CONFIG, quantization_config={"quant_method": long})),
                             ("field", dict(program.CONFIG, model_type="unheard_of", **{long: 1}))):
            with self.subTest(name):
                self.write("long.json", json.dumps(config))
                said = self.fit("long.json", "--json")
                self.assertLess(len(said.out.encode()), 1 << 16)
                self.assertNotIn("\ufffd", said.out)

    def text(self, *words):
        said = self.fit(*words)
        self.assertIn(said.code, (0, 1, 2), said)
        return said.out

    def test_an_assumed_card_is_said_beside_the_answer(self):
        first = " ".join(self.text("config.json").split("\n  model")[0].split())
        self.assertIn("No card was given (--gpu or --vram): RTX 3060 12GB is assumed.", first)
        self.assertEqual(self.text("config.json").count("No card was given"), 1)
        for words in (["--gpu", "T4"], ["--vram", "12"]):
            self.assertNotIn("No card was given", self.text("config.json", *words))

    def test_what_would_make_it_fit_is_simulated(self):
        ask = ("config.json", "--vram", "1", "--method", "lora", "--max-length", "4096")
        asked = self.report(*ask)
        self.assertEqual(asked["verdict"]["answer"], "does_not_fit")
        self.assertTrue(asked["changes"])
        text = " ".join(self.text(*ask).split())
        self.assertIn("What would change that", text)
        for change in asked["changes"]:
            self.assertIn(change["sentence"], text)
        self.assertNotIn("What would change that", self.text("config.json", "--vram", "80"))

    def test_an_answer_lists_what_qlora_rests_on(self):
        settings = ("quantization.prepare_model_for_kbit_training true",
                    "quantization.bnb_4bit_use_double_quant true", "quantization.bnb_4bit_quant_type nf4",
                    "quantization.bnb_4bit_compute_dtype bfloat16")
        text = " ".join(self.text("config.json", "--method", "qlora").split())
        for words in settings:
            self.assertIn(words, text)
        self.assertNotIn("bnb_4bit", self.text("config.json", "--method", "lora"))
        text = " ".join(self.text("config.json", "--method", "qlora", "--no-kbit-prep").split())
        self.assertNotIn("prepare_model_for_kbit_training true", text)

    def test_the_text_speaks_in_words(self):
        words = ["--method", "qlora", "--gpu", "T4", "--max-length", "64"]
        text = self.text("config.json", *words)
        flat = " ".join(text.split())
        self.assertRegex(text, "4-bit weights and statistics +[0-9]")
        self.assertNotRegex(text, r"(?m)^  quant ")
        self.assertRegex(flat, r"At the peak: .* of tensors, in .*, when [a-z_:0-9]+ allocates its result")
        self.assertRegex(flat, r"margin -?[0-9.]+ [GM]iB, usable minus the high end; risk (low|medium|high)")
        self.assertRegex(text, "[0-9] smaller groups")
        report = self.report("config.json", *words)
        self.assertIn("quant", [row["category"] for row in report["memory"]["at_peak"]])

    def test_base_and_adapters_are_counted_apart(self):
        model = self.report("config.json")["model"]
        base = model["num_parameters"] - model["num_trainable_parameters"]
        text = " ".join(self.text("config.json").split())
        adapters = model["num_trainable_parameters"]
        self.assertIn(f"{base / 1e6:.1f} million parameters and {self.count(adapters)} in adapters", text)
        full = self.report("config.json", "--method", "full")["model"]
        self.assertEqual(full["num_parameters"], base)
        text = " ".join(self.text("config.json", "--method", "full").split())
        self.assertIn(f"{base / 1e6:.1f} million parameters, all trained", text)

    @staticmethod
    def count(number):
        return f"{number / 1e6:.1f} million" if number >= 1e6 else str(number)

    def test_a_card_is_found_without_its_unit(self):
        for words, name in (("A100 80", "A100 80GB"), ("a100-40", "A100 40GB"), ("H100 80", "H100 80GB"),
                            ("T4 16", "T4 16GB")):
            self.assertEqual(self.report("config.json", "--gpu", words)["setup"]["gpu"]["name"], name)
        gpu = self.report("config.json", "--gpu", "A100 80x2")["setup"]["gpu"]
        self.assertEqual((gpu["name"], gpu["count"]), ("A100 80GB", 2))

    def test_short_names_of_types_are_understood(self):
        for word, name in (("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32")):
            self.assertEqual(self.report("config.json", "--dtype", word)["setup"]["dtype"], name)

    def test_help_says_what_is_assumed(self):
        text = " ".join(run("fit", "--help").out.split())
        for words in ("Tokens per sequence; activations and logits grow with it. Default: 2048.",
                      "[full | lora | qlora | inference] Default: lora.", "Default: adamw_torch_fused.",
                      "Default: RTX 3060 12GB.", "Default: all-linear.", "Default: nf4.",
                      "Default: false (with qlora true)."):
            self.assertIn(words, text)

    def test_another_type_in_the_config_is_noted(self):
        self.write("float32.json", json.dumps(dict(program.CONFIG, torch_dtype="float32")))
        [note] = [note for note in self.report("float32.json")["notes"] if "float32" in note]
        self.assertIn("bfloat16", note)
        self.assertNotIn("float32", " ".join(self.report("config.json")["notes"]))
        for dtype in ("float32", "bfloat16"):
            notes = self.report("float32.json", "--dtype", dtype)["notes"]
            self.assertFalse([note for note in notes if "The config states" in note])

    def test_no_text_of_strangers_drives_the_terminal(self):
        bad = "a\x1b]0;x\x07b\u009b1m\u202ec\u2066d\u2028e"
        self.write("evil.json", json.dumps(dict(program.CONFIG, model_type=bad), ensure_ascii=False))
        for words in (["evil.json"], ["evil.json", "--json"], ["config.json", "--method", bad], [bad]):
            said = self.fit(*words)
            for text in (said.out, said.err):
                self.assertFalse(set(text) & set("\x1b\x07\u009b\u202e\u2066\u2028"), said)
        self.assertEqual(json.loads(self.fit("evil.json", "--json").out)["model"]["model_type"], bad)

    def test_refusals(self):
        self.write("empty/readme.txt", "")
        self.write("adapter/adapter_config.json", '{"base_model_name_or_path": "org/base"}')
        self.write("nameless/adapter_config.json", "{}")
        self.write("gguf/model-q4.gguf", "GGUF")
        self.write("model.safetensors", b"\0\0\0\0")
        self.write("zero.json", "")
        self.write("junk.json", b"\x7fELF\x02\x01\x01\0\0\xff\xfe")
        self.write("list.json", "[1, 2]")
        self.write("cut.json", '{"model_type": "llama",\n "hidden_size": 20x')
        broken = dict(program.CONFIG, hidden_size="wide", num_hidden_layers=-3)
        self.write("types.json", json.dumps(broken))
        self.write("qlora.json", '{"method": "qlora"}')
        self.write("large.json", " " * (11 << 20))
        self.write("packed.json.gz", gzip.compress(b'{"method": "qlora"}'))
        self.write("zero-byte.json", json.dumps(program.CONFIG) + "\n\0{]")
        os.makedirs(os.path.join(self.folder.name, "folder-of-pipe"))
        for name in ("pipe", "folder-of-pipe/config.json"):
            os.mkfifo(os.path.join(self.folder.name, name))
        for words, code, expected in REFUSALS:
            with self.subTest(words=words):
                said = run(*(self.config if word == "CONFIG" else word for word in words), cwd=self.folder.name)
                self.assertEqual(said.code, code, said)
                text = " ".join((said.err or said.out).split())
                for word in expected:
                    self.assertIn(word, text)
                if words and not any(word.startswith("--json") for word in words):
                    self.assertEqual(said.out, "")

    def test_all_mistakes_are_told_at_once(self):
        self.write("types.json", json.dumps(dict(program.CONFIG, hidden_size="wide", num_hidden_layers=-3)))
        setup = self.write("setup.json", '{"max_length": "long", "methd": "full"}')
        said = self.fit("types.json", "--setup", setup, "--batch", "four", "--rank", "0")
        self.assertEqual(said.code, 65, said)
        text = " ".join(said.err.split())
        for place in (f"{setup}: /max_length", f"{setup}: /methd", "--batch", "--rank", "types.json: /hidden_size",
                      "types.json: /num_hidden_layers"):
            self.assertIn(place, text)

    def test_errors_can_be_read_by_a_program(self):
        said = self.fit("config.json", "--json", "--batch", "0")
        answer = json.loads(said.out)
        self.assertFalse(answer["ok"])
        self.assertEqual(answer["errors"][0]["code"], "E0303")
        self.assertIn("E0303", said.err)
        for words in (["fit", "config.json", "--json", "--bogus"], ["fit", "--json"], ["fit", "--bogus", "--JSON=true"],
                      ["fit", "config.json", "config.json", "--json"], ["fti", "--json"], ["timeline", "--json"],
                      ["timeline", "none.json", "--json"], ["timeline", "diff", "a", "b", "--json"],
                      ["timeline", "diff", "--json"], ["fit", "config.json", "--json", "--ckpt", "maybe"]):
            with self.subTest(words=words):
                said = run(*words, cwd=self.folder.name)
                self.assertFalse(json.loads(said.out)["ok"])
                self.assertIn(said.code, (64, 65))
        for words in (["--bogus", "--json", "false"], ["--bogus", "--no-json"], ["--bogus", "--", "--json"]):
            self.assertEqual(self.fit("config.json", *words).out, "")

    def test_every_value_says_why(self):
        run_words = "--gpu 4090 --method qlora --length 512 --optim paged_adamw_8bit".split()
        says = {
            "verdict": ["The verdict: fits", "Risk low", "usable memory, ", "host memory"],
            "interval": ["The interval: ", "CUDA context and modules, ", "Nine runs of ten"],
            "process_peak_bytes": ["The interval: "],
            "peak": ["The peak: ", "Nothing is added"],
            "quant": ["4-bit weights and statistics: ", "R023: Packed weights", "read in bitsandbytes/functional.py",
                      "bitsandbytes 0.50; proved by the recorded timeline "],
            "4-bit weights and statistics": ["R023"],
            "optim": ["optim: paged_adamw_8bit", "Where it comes from: given.", "R052: Paged"],
            "/setup/optim": ["optim: paged_adamw_8bit"],
            "use_reentrant": ["use_reentrant: true", "assumed, or follows"],
            "lora.r": ["lora.r: 16", "Rank of the adapters"],
            "R052": ["Paged optimizer states", "brought about by optim"],
            "r010": ["PEFT's k-bit preparation"],
            "R035": ["none of the largest tensors"],
            "rules": ["The rules at work: ", "R013", "tests/unit/train_setup_test.cpp"],
            "model": ["parameters, adapters included", "(exact)"],
            "corrections": ["no number was corrected"],
        }
        for value, sentences in says.items():
            with self.subTest(value):
                said = self.fit("config.json", *run_words, "--why", value)
                self.assertEqual(said.code, 0, said)
                text = " ".join(said.out.split())
                for sentence in sentences:
                    self.assertIn(sentence, text)
        everything = self.fit("--why", "config.json", *run_words)
        self.assertEqual(everything.code, 0, everything)
        for heading in ("The verdict", "The interval", "The peak", "The model", "The setup", "The rules at work"):
            self.assertIn("\n" + heading, everything.out)
        without = self.fit("config.json", *run_words, "--no-corrections", "--why=corrections")
        self.assertIn("as asked with --no-corrections", " ".join(without.out.split()))

    def test_what_is_not_modelled_is_said_and_is_neither_yes_nor_no(self):
        self.write("other.json", json.dumps({"model_type": "some_state_space_model", "hidden_size": 64,
                                             "num_hidden_layers": 2, "vocab_size": 100}))
        said = self.fit("other.json")
        self.assertEqual(said.code, 2, said)
        self.assertIn("Not modelled yet", " ".join(said.out.split()))
        self.assertNotIn("At the peak", said.out)

    def test_a_pipe_gets_plain_ascii_without_colours(self):
        said = self.fit("config.json", env=environment(LC_ALL="C.UTF-8", TERM="xterm-256color"))
        self.assertTrue(said.out.isascii())
        self.assertNotIn("\x1b", said.out)
        for words in ("needs", "usable", "margin", "At the peak", "#", "Phases"):
            self.assertIn(words, said.out)

    def test_a_terminal_gets_blocks_and_colours_unless_it_says_no(self):
        env = environment(LC_ALL="C.UTF-8", TERM="xterm-256color")
        _, text = read_terminal(["fit", self.config], env, 80)
        self.assertIn("\u2588", text)
        self.assertIn("\x1b[", text)
        _, text = read_terminal(["fit", self.config], {**env, "NO_COLOR": "1"}, 80)
        self.assertIn("\u2588", text)
        self.assertNotIn("\x1b", text)
        _, text = read_terminal(["fit", self.config], {**env, "LC_ALL": "C"}, 80)
        self.assertTrue(text.isascii())
        _, text = read_terminal(["fit", self.config], {**env, "TERM": "dumb"}, 80)
        self.assertNotIn("\x1b", text)

    def test_no_line_is_wider_than_the_terminal(self):
        env = environment(LC_ALL="C.UTF-8", TERM="xterm-256color")
        for words in (["fit", "config.json"], ["fit", "--help"], ["--help"], ["fit", "config.json", "--batch", "0"]):
            words = [self.config if word == "config.json" else word for word in words]
            for columns in (40, 60, 80, 132):
                with self.subTest(words=words, columns=columns):
                    _, text = read_terminal(words, env, columns)
                    for line in ESCAPE.sub("", text).splitlines():
                        # Examples, tables of codes and words that cannot be broken may stand out.
                        long_word = max(map(len, line.split()), default=0) + 12 > columns
                        verbatim = re.match(r"  (peakline|-|--|HF_|NO_|[0-9 ]+ )", line)
                        self.assertTrue(len(line) <= columns or long_word or verbatim, line)

    def test_a_reader_that_stops_is_no_mistake(self):
        process = subprocess.Popen([program.PROGRAM, "fit", self.config], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        process.stdout.close()
        self.assertIn(process.wait(timeout=20), (0, 1, 2))
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([program.PROGRAM, "fit", self.config], stdout=full, stderr=subprocess.PIPE,
                                  env=environment())
        self.assertEqual(done.returncode, 70)
        self.assertIn(b"could not be written", done.stderr)

    def test_help_and_version_are_answers(self):
        for words in (["--help"], ["-h"], ["help"], ["fit", "--help"], ["fit", "-h"], ["help", "fit"],
                      ["fit", "--help-all"], ["serve", "--help"], ["--version"], ["fit", "config.json", "--help"]):
            with self.subTest(words=words):
                said = run(*words)
                self.assertEqual((said.code, said.err), (0, ""))
        self.assertRegex(run("--version").out, r"^peakline \d+\.\d+\.\d+\n$")
        text = run("fit", "--help").out
        for words in ("Examples", "Exit codes", "--per-device-train-batch-size", "HF_TOKEN", "qlora"):
            self.assertIn(words, text)

    def test_a_local_answer_comes_at_once(self):
        best = 10.0
        for _ in range(7):
            start = time.perf_counter()
            self.fit("config.json")
            best = min(best, time.perf_counter() - start)
        # The release build's target is 40 ms; sanitizers and a busy machine get room.
        self.assertLess(best, 1.0)


if __name__ == "__main__":
    program.take_program()
    unittest.main()
