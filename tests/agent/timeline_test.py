"""`peakline timeline diff` on files that are whole, damaged, or meant to do harm."""
import gzip
import json
import os
import pty
import subprocess
import tempfile
import unittest
import zlib

import program
from program import environment, run

BAD = "a\x1b]0;title\x07\x1b[31m\u202eb\u2069\u009bc\nd"


def timeline(op="mm", num_bytes=1 << 20):
    tensor = {"bytes": num_bytes, "shape": [512, 512], "dtype": "float32", "op": op, "phase": "forward",
              "module": op, "rule": op}
    return {"schema": 1, "tensors": [tensor], "events": [0, -1], "phases": [[0, "data" + (op if op == BAD else "")]]}


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.good = json.dumps(timeline()).encode()
        cls.write("good.json", cls.good)
        cls.write("good.json.gz", gzip.compress(cls.good))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, content):
        path = os.path.join(cls.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def diff(self, *words):
        return run("timeline", "diff", *words, cwd=self.folder.name)

    def refused(self, name, *expected):
        said = self.diff(name, "good.json")
        self.assertEqual((said.code, said.out), (65, ""), said)
        text = " ".join(said.err.split())
        for words in (name, *expected):
            self.assertIn(words, text)

    def test_equal_and_unequal_as_text_and_as_json(self):
        self.write("other.json", json.dumps(timeline(op="add")).encode())
        said = self.diff("good.json", "good.json.gz")
        self.assertEqual(said.code, 0, said)
        self.assertIn("Event-equal", said.out)
        said = self.diff("good.json", "good.json.gz", "--json")
        self.assertEqual((said.code, json.loads(said.out)),
                         (0, {"schema": 1, "equal": True, "compared_events": 2, "difference": None}))
        said = self.diff("good.json", "other.json", "--json")
        answer = json.loads(said.out)
        self.assertEqual((said.code, answer["equal"], answer["difference"]["event_a"]), (1, False, 0))
        self.assertIn("mm", answer["difference"]["what"])

    def test_a_difference_before_the_first_phase_is_said_without_one(self):
        for name, op in (("early.json", "mm"), ("other-early.json", "add")):
            early = timeline(op=op)
            early["phases"] = []
            self.write(name, json.dumps(early).encode())
        said = self.diff("early.json", "other-early.json")
        self.assertEqual(said.code, 1, said)
        self.assertIn("before the first phase", said.out)
        self.assertNotIn("in phase", said.out)

    def test_an_empty_context_is_left_out(self):
        shorter = timeline()
        shorter["tensors"][0]["bytes"] <<= 1
        self.write("initial.json", json.dumps(dict(shorter, phases=[[1, "data"]])).encode())
        self.write("initial-good.json", json.dumps(dict(timeline(), phases=[[1, "data"]])).encode())
        said = self.diff("initial.json", "initial-good.json")
        self.assertEqual(said.code, 1, said)
        for words in ("A before it:", "B before it:"):
            if words in said.out:
                self.assertRegex(said.out, words + r"\n +\S")

    def test_a_timeline_is_not_poured_over_a_terminal(self):
        config = self.write("config.json", json.dumps(program.CONFIG).encode())
        parent, child = pty.openpty()
        done = subprocess.run([program.PROGRAM, "timeline", config], stdout=child, stderr=subprocess.PIPE,
                              env=environment(), timeout=60)
        os.close(child)
        os.close(parent)
        self.assertEqual(done.returncode, 64, done)
        self.assertIn(b"--output", done.stderr)
        self.assertIn(b"> ", done.stderr)
        said = run("timeline", config)
        self.assertEqual((said.code, json.loads(said.out)["schema"]), (0, 1))

    def test_a_written_timeline_can_be_told_as_json(self):
        config = self.write("config.json", json.dumps(program.CONFIG).encode())
        said = run("timeline", config, "--output", "out.json.gz", "--json", cwd=self.folder.name)
        answer = json.loads(said.out)
        self.assertEqual((said.code, answer["output"]), (0, "out.json.gz"))
        self.assertGreater(answer["num_events"], answer["num_tensors"])
        self.assertEqual(self.diff("out.json.gz", "out.json.gz").code, 0)

    def test_names_of_strangers_do_not_reach_the_terminal(self):
        self.write("bad.json", json.dumps(timeline(op=BAD)).encode())
        for pair in (("bad.json", "good.json"), ("good.json", "bad.json")):
            for words in ((), ("--json",)):
                said = self.diff(*pair, *words)
                self.assertEqual(said.code, 1, said)
                self.assertFalse(set(said.out) & set("\x1b\x07\u202e\u2069\u009b"), said)
                self.assertNotIn("\nd", said.out)

    def test_a_damaged_file_is_never_taken_for_a_whole_one(self):
        packed = gzip.compress(self.good)
        for cut in (1, 4, 8, len(packed) // 2):
            with self.subTest(cut=cut):
                self.write("cut.json.gz", packed[:-cut])
                self.refused("cut.json.gz", "truncated")
        broken = bytearray(packed)
        broken[-6] ^= 1
        self.write("sum.json.gz", bytes(broken))
        self.refused("sum.json.gz", "damaged")
        self.write("second.json.gz", packed + packed[:20])
        self.refused("second.json.gz", "truncated")

    def test_a_folder_is_called_one(self):
        self.refused(".", "a folder")
        self.refused("missing.json", "no such file")

    def test_a_place_in_a_file_is_told_apart_from_its_name(self):
        self.write("config.json", json.dumps(program.CONFIG).encode())
        self.refused("config.json", "config.json: /tensors:")

    def test_a_bomb_is_refused_before_it_fills_the_memory(self):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        pieces = [packer.compress(b'{"tensors": [')]
        pieces += [packer.compress(b"0," * (1 << 20)) for _ in range(200)]
        pieces.append(packer.flush())
        path = self.write("bomb.json.gz", b"".join(pieces))

        process = subprocess.Popen([program.PROGRAM, "timeline", "diff", path, "good.json"], cwd=self.folder.name,
                                   stderr=subprocess.PIPE, env=environment())
        said = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 65, said)
        self.assertIn(b"far more", said)
        self.assertLess(usage.ru_maxrss, 300 << 10)  # KiB


if __name__ == "__main__":
    program.take_program()
    unittest.main()
