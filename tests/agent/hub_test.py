"""Models from the hub: what is asked, who sees the token, and what a person reads when it goes wrong."""
import json
import pathlib
import unittest

import program
from fake_hub import COMMIT, GOOD_TOKEN, FakeHub
from program import environment, run

UNREACHABLE = 69
ANSWERS = (0, 1, 2)

# model, token, exit code, words that must be on stderr
REFUSALS = [
    ("org/missing", "", UNREACHABLE, ["E0602", "no such model", "private", "HF_TOKEN"]),
    ("org/missing", GOOD_TOKEN, UNREACHABLE, ["E0602", "no such model", "spelling"]),
    ("org/gated", "", UNREACHABLE, ["E0603", "gated", "accept", "/org/gated", "HF_TOKEN"]),
    ("org/gated", "hf_someoneelse", UNREACHABLE, ["E0603", "gated", "no access"]),
    ("org/refused", GOOD_TOKEN, UNREACHABLE, ["E0603", "gated", "no access"]),
    ("org/noconfig", "", UNREACHABLE, ["E0604", "config.json", "adapter"]),
    ("org/good@nope", "", UNREACHABLE, ["E0605", 'no revision "nope"', "main"]),
    ("org/disabled", "", UNREACHABLE, ["E0606", "disabled"]),
    ("org/good", "hf_expired", UNREACHABLE, ["E0607", "does not accept the token"]),
    ("org/toobusy", "", UNREACHABLE, ["E0608", "137 seconds"]),
    ("org/broken", "", UNREACHABLE, ["E0609", "answered 500", "later"]),
    ("org/teapot", "", UNREACHABLE, ["E0610", "answered 418", "stout"]),
    ("org/signin", "", UNREACHABLE, ["E0610", "web page"]),
    ("org/loop", "", UNREACHABLE, ["E0609", "sent on more than"]),
    ("org/tofile", "", UNREACHABLE, ["E0609", "not http or https"]),
    ("org/huge", "", 65, ["E0105", "10.0 MiB"]),
    ("org/bomb", "", 65, ["E0105", "10.0 MiB"]),
    ("org/junk", "", 65, ["E0101", "org/junk"]),
]

# One table for the program and the page; of the endpoint itself only here.
TABLE = json.loads((pathlib.Path(__file__).parent / "../hub/addresses.json").read_text().replace("{commit}", COMMIT))
ADDRESSES = [(row["typed"], row["asked"]) for row in TABLE["models"]]
ADDRESSES += [("{hub}/org/good/tree/main", "/org/good/resolve/main/config.json")]

# typed -> words of the refusal; nothing may be asked
NOT_A_MODEL = [(row["typed"], ["E0601", *row["words"]]) for row in TABLE["refused"]]
NOT_A_MODEL += [
    ("https://example.org/org/good", ["E0601", "HF_ENDPOINT=https://example.org"]),
    ("hf://org/good/more", ["E0601", "org/name"]),
]


class Hub(unittest.TestCase):
    def setUp(self):
        self.hub = FakeHub(program.CONFIG)

    def tearDown(self):
        self.hub.close()

    def fit(self, model, *words, token="", **env):
        if token:
            env["HF_TOKEN"] = token
        env.setdefault("HF_ENDPOINT", self.hub.address)
        return run("fit", model, *words, env=environment(**env))

    def test_a_model_is_read_through_the_redirect_and_names_its_commit(self):
        said = self.fit("org/good")
        self.assertIn(said.code, ANSWERS, said)
        self.assertIn(f"org/good@{COMMIT[:7]}", said.out)
        self.assertEqual(said.err, "")

    def test_every_spelling_asks_for_the_same_kind_of_address(self):
        for typed, path in ADDRESSES:
            with self.subTest(typed=typed):
                self.hub.hub.requests.clear()
                said = self.fit(typed.replace("{hub}", self.hub.address))
                self.assertEqual(self.hub.hub.requests[0][0], path, said)
                self.assertIn(said.code, ANSWERS, said)

    def test_a_revision_can_be_an_option(self):
        self.fit("org/good", "--revision", "refs/pr/7")
        self.assertEqual(self.hub.hub.requests[0][0], "/org/good/resolve/refs%2Fpr%2F7/config.json")

    def test_refusals_say_what_to_do(self):
        for model, token, code, words in REFUSALS:
            with self.subTest(model=model, token=token):
                said = self.fit(model, token=token)
                self.assertEqual(said.code, code, said)
                self.assertEqual(said.out, "")
                joined = " ".join(said.err.split())
                for word in words:
                    self.assertIn(word, joined)
                self.assertNotIn("\x1b", said.err)
                if token:
                    self.assertNotIn(token, said.err)

    def test_what_is_no_model_is_refused_without_asking(self):
        for typed, words in NOT_A_MODEL:
            with self.subTest(typed=typed):
                said = self.fit(typed)
                self.assertEqual(said.code, 64, said)
                for word in words:
                    self.assertIn(word, " ".join(said.err.split()))
        self.assertEqual(self.hub.hub.requests, [])

    def test_the_token_opens_a_gated_model(self):
        said = self.fit("org/gated", token=GOOD_TOKEN)
        self.assertIn(said.code, ANSWERS, said)
        self.assertEqual(self.hub.hub.requests[0][1], f"Bearer {GOOD_TOKEN}")

    def test_the_token_does_not_follow_a_redirect_to_another_server(self):
        said = self.fit("org/cdn", token=GOOD_TOKEN)
        self.assertIn(said.code, ANSWERS, said)
        self.assertEqual(self.hub.hub.requests[0][1], f"Bearer {GOOD_TOKEN}")
        self.assertEqual(self.hub.cdn.requests, [("/repo/config?signature=1", None)])
        self.assertIn(f"org/cdn@{COMMIT[:7]}", said.out)

    def test_without_a_token_nothing_is_authorised(self):
        self.fit("org/good")
        self.assertEqual({token for _, token in self.hub.hub.requests}, {None})

    def test_a_token_that_would_break_the_header_is_not_sent(self):
        said = self.fit("org/good", token="hf_one\r\nX-Other: two")
        self.assertEqual(said.code, UNREACHABLE, said)
        self.assertIn("E0607", said.err)
        self.assertNotIn("hf_one", said.err)
        self.assertEqual(self.hub.hub.requests, [])

    def test_the_token_is_not_sent_in_the_clear(self):
        said = self.fit("org/good", token=GOOD_TOKEN, HF_ENDPOINT="http://hub.example")
        self.assertEqual(said.code, UNREACHABLE, said)
        self.assertIn("unencrypted", said.err)
        self.assertNotIn(GOOD_TOKEN, said.err)

    def test_a_busy_hub_is_asked_again(self):
        said = self.fit("org/busy")
        self.assertIn(said.code, ANSWERS, said)
        self.assertEqual(len(self.hub.hub.requests), 3)

    def test_a_long_wait_is_not_waited_for(self):
        self.fit("org/toobusy")
        self.assertEqual(len(self.hub.hub.requests), 1)

    def test_offline_asks_nobody(self):
        said = self.fit("org/good", HF_HUB_OFFLINE="1")
        self.assertEqual(said.code, UNREACHABLE, said)
        self.assertIn("HF_HUB_OFFLINE", said.err)
        self.assertEqual(self.hub.hub.requests, [])

    def test_no_network(self):
        said = self.fit("org/good", HF_ENDPOINT="http://127.0.0.1:9")
        self.assertEqual(said.code, UNREACHABLE, said)
        self.assertIn("could not be reached", said.err)

    def test_an_endpoint_that_is_no_address(self):
        said = self.fit("org/good", HF_ENDPOINT="nonsense")
        self.assertEqual(said.code, 64, said)
        self.assertIn("HF_ENDPOINT", said.err)

    def test_an_endpoint_may_have_a_path_and_a_slash(self):
        self.fit("org/good", HF_ENDPOINT=self.hub.address + "/mirror/")
        self.assertEqual(self.hub.hub.requests[0][0], "/mirror/org/good/resolve/main/config.json")

    def test_wrong_options_are_said_before_the_hub_is_asked(self):
        said = self.fit("org/good", "--batch", "0")
        self.assertEqual(said.code, 64, said)
        self.assertEqual(self.hub.hub.requests, [])


if __name__ == "__main__":
    program.take_program()
    unittest.main()
