"""The page's server under requests a browser would and would not send, over raw sockets."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import program
from program import environment, run

FILES = {
    "index.html": b"<!doctype html><title>Peakline</title>",
    "app.mjs": b"export {};",
    "boot.js": b"'use strict';",
    "style/base.css": b"body {}",
    "wasm/peakline.wasm": b"\0asm\1\0\0\0",
    "icon.svg": b"<svg/>",
    "sub/index.html": b"<title>sub</title>",
    "README.md": b"not part of the page",
    ".hidden.js": b"hidden",
}

# method, target, Host values (P stands for the port), expected status
REQUESTS = [
    ("GET", "/", ["127.0.0.1:P"], 200),
    ("GET", "/", ["localhost:P"], 200),
    ("GET", "/", ["[::1]:P"], 200),
    ("HEAD", "/", ["127.0.0.1:P"], 200),
    ("GET", "/index.html", ["127.0.0.1:P"], 200),
    ("GET", "/app.mjs?v=1", ["127.0.0.1:P"], 200),
    ("GET", "/sub/", ["127.0.0.1:P"], 200),
    # A name that a stranger's server made point here.
    ("GET", "/", ["rebound.example:P"], 421),
    ("GET", "/", ["rebound.example"], 421),
    ("GET", "/", ["127.0.0.1.rebound.example:P"], 421),
    ("GET", "/", ["0.0.0.0:P"], 421),
    ("GET", "/", ["localhost.:P"], 421),
    ("GET", "/", ["LOCALHOST:P"], 200),  # a name has no case
    ("GET", "/", ["app.localhost:P"], 421),
    ("GET", "/", ["127.0.0.1"], 421),
    ("GET", "/", ["localhost"], 421),
    ("GET", "/", ["127.0.0.1:1"], 421),
    ("GET", "/", ["127.0.0.1:P0"], 421),
    ("GET", "/", ["127.0.0.1:0P"], 421),
    ("GET", "/", ["127.0.0.2:P"], 421),
    ("GET", "/", ["127.1:P"], 421),
    ("GET", "/", ["2130706433:P"], 421),
    ("GET", "/", ["[::ffff:127.0.0.1]:P"], 421),
    ("GET", "/", ["[::]:P"], 421),
    ("GET", "/", ["::1:P"], 421),
    ("GET", "/", ["user@127.0.0.1:P"], 421),
    ("GET", "/", ["127.0.0.1:P, rebound.example"], 421),
    ("GET", "/", [""], 421),
    ("GET", "/", [], 421),
    ("GET", "/", ["127.0.0.1:P", "127.0.0.1:P"], 421),
    ("GET", "/", ["127.0.0.1:P", "rebound.example"], 421),
    ("GET", "/", ["rebound.example", "127.0.0.1:P"], 421),
    ("POST", "/", ["rebound.example:P"], 421),
    # Nothing changes state here.
    ("POST", "/", ["127.0.0.1:P"], 405),
    ("PUT", "/index.html", ["127.0.0.1:P"], 405),
    ("DELETE", "/index.html", ["127.0.0.1:P"], 405),
    ("PATCH", "/", ["127.0.0.1:P"], 405),
    ("OPTIONS", "/", ["127.0.0.1:P"], 405),
    ("TRACE", "/", ["127.0.0.1:P"], 405),
    ("BREW", "/", ["127.0.0.1:P"], 400),
    # Only the page's own files, whatever the path looks like.
    ("GET", "/missing.html", ["127.0.0.1:P"], 404),
    ("GET", "/sub", ["127.0.0.1:P"], 404),
    ("GET", "/README.md", ["127.0.0.1:P"], 404),
    ("GET", "/.hidden.js", ["127.0.0.1:P"], 404),
    ("GET", "/link.js", ["127.0.0.1:P"], 404),
    ("GET", "/../secret.txt", ["127.0.0.1:P"], 404),
    ("GET", "/sub/../../secret.txt", ["127.0.0.1:P"], 404),
    ("GET", "/%2e%2e/secret.txt", ["127.0.0.1:P"], 404),
    ("GET", "/..%2fsecret.txt", ["127.0.0.1:P"], 404),
    ("GET", "/%2e%2e%2f%2e%2e%2fetc/passwd", ["127.0.0.1:P"], 404),
    ("GET", "/%252e%252e/secret.txt", ["127.0.0.1:P"], 404),
    ("GET", "/..\\secret.txt", ["127.0.0.1:P"], 404),
    ("GET", "//etc/passwd", ["127.0.0.1:P"], 404),
    ("GET", "/etc/passwd", ["127.0.0.1:P"], 404),
    ("GET", "/index.html%00.png", ["127.0.0.1:P"], 404),
    ("GET", "http://rebound.example/", ["127.0.0.1:P"], 404),
]

TYPES = {
    "/": "text/html; charset=utf-8",
    "/app.mjs": "text/javascript; charset=utf-8",
    "/boot.js": "text/javascript; charset=utf-8",
    "/style/base.css": "text/css; charset=utf-8",
    "/wasm/peakline.wasm": "application/wasm",
    "/icon.svg": "image/svg+xml",
}


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1]) if lines[0].startswith("HTTP/") else 0
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()


def ask(port, raw, host="127.0.0.1"):
    """Sends bytes, reads to the end. A connection that was cut is an empty answer."""
    with socket.create_connection((host, port), timeout=20) as connection:
        try:
            connection.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was read; the answer may still be there
        got = b""
        try:
            while chunk := connection.recv(65536):
                got += chunk
        except ConnectionResetError:
            pass
        return Answer(got)


def request(method, target, hosts, headers=()):
    lines = [f"{method} {target} HTTP/1.1"] + [f"Host: {host}" for host in hosts] + list(headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Running:
    """`peakline serve` until the end of the with-block."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        self.process = subprocess.Popen([program.PROGRAM, "serve", *self.words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment())
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, (line, self.process.stderr.read())
        self.port = int(found.group(1))
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.site = os.path.join(cls.folder.name, "site")
        for name, content in FILES.items():
            path = os.path.join(cls.site, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        secret = os.path.join(cls.folder.name, "secret.txt")
        with open(secret, "w") as file:
            file.write("secret")
        os.symlink(secret, os.path.join(cls.site, "link.js"))
        cls.running = Running("--site", cls.site)
        cls.running.__enter__()
        cls.port = cls.running.port

    @classmethod
    def tearDownClass(cls):
        cls.running.__exit__()
        cls.folder.cleanup()

    def test_the_table_of_requests(self):
        for method, target, hosts, status in REQUESTS:
            hosts = [host.replace("P", str(self.port)) for host in hosts]
            with self.subTest(method=method, target=target, hosts=hosts):
                answer = ask(self.port, request(method, target, hosts))
                self.assertEqual(answer.status, status)
                self.assertNotIn(b"secret", answer.body)

    def test_files_arrive_whole_and_with_their_type(self):
        for target, mime_type in TYPES.items():
            with self.subTest(target=target):
                answer = ask(self.port, request("GET", target, [f"127.0.0.1:{self.port}"]))
                self.assertEqual(answer.headers["content-type"], mime_type)
                self.assertEqual(answer.body, FILES[target.strip("/") or "index.html"])

    def test_head_has_no_body(self):
        answer = ask(self.port, request("HEAD", "/", [f"127.0.0.1:{self.port}"]))
        self.assertEqual(answer.body, b"")
        self.assertEqual(answer.headers["content-length"], str(len(FILES["index.html"])))

    def test_every_answer_carries_the_security_headers(self):
        for host, method in ((f"127.0.0.1:{self.port}", "GET"), ("rebound.example", "GET"),
                             (f"127.0.0.1:{self.port}", "POST")):
            answer = ask(self.port, request(method, "/", [host]))
            policy = answer.headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("'unsafe-inline'", policy)
            self.assertNotIn("'unsafe-eval'", policy.replace("'wasm-unsafe-eval'", ""))
            self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
            self.assertEqual(answer.headers["cross-origin-resource-policy"], "same-origin")
            self.assertEqual(answer.headers["referrer-policy"], "no-referrer")
            self.assertEqual(answer.headers["cache-control"], "no-store")
            self.assertNotIn("access-control-allow-origin", answer.headers)

    def test_a_body_of_one_request_is_never_the_next_request(self):
        hidden = request("GET", "/app.mjs", [f"127.0.0.1:{self.port}"])
        first = request("GET", "/", [f"127.0.0.1:{self.port}"], [f"Content-Length: {len(hidden)}"])
        answer = ask(self.port, first + hidden)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.body, FILES["index.html"])

    def test_long_and_malformed_requests_end_in_a_refusal(self):
        host = f"127.0.0.1:{self.port}"
        cases = {
            "long header": request("GET", "/", [host], ["X-Long: " + "x" * 100_000]),
            "long target": request("GET", "/" + "x" * 100_000, [host]),
            "long host": request("GET", "/", [host + "x" * 20_000]),
            "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            "no target": b"GET\r\n\r\n",
            "other protocol": f"GET / SPDY/3\r\nHost: {host}\r\n\r\n".encode(),
        }
        for name, raw in cases.items():
            with self.subTest(name):
                self.assertNotEqual(ask(self.port, raw).status, 200)
        self.test_head_has_no_body()  # and the server is still there

    def test_a_huge_body_is_not_taken(self):
        host = f"127.0.0.1:{self.port}"
        head = request("POST", "/", [host], [f"Content-Length: {256 << 20}"])
        answer = ask(self.port, head + b"x" * (8 << 20))
        self.assertIn(answer.status, (405, 413, 0))
        self.test_head_has_no_body()

    @unittest.skipUnless(has_ipv6(), "this machine has no [::1]")
    def test_the_other_loopback_address_serves_the_same(self):
        answer = ask(self.port, request("GET", "/", [f"localhost:{self.port}"]), host="::1")
        self.assertEqual(answer.body, FILES["index.html"])
        answer = ask(self.port, request("GET", "/", ["rebound.example"]), host="::1")
        self.assertEqual(answer.status, 421)

    def test_it_listens_on_loopback_only(self):
        ports = set()
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if not os.path.exists(table):
                continue
            with open(table) as file:
                for line in file.readlines()[1:]:
                    address, state = line.split()[1], line.split()[3]
                    if state == "0A" and int(address.split(":")[1], 16) == self.port:
                        ports.add(address.split(":")[0])
        self.assertTrue(ports)
        self.assertLessEqual(ports, {"0100007F", "00000000000000000000000001000000"})

    def test_a_port_that_is_taken_is_refused(self):
        said = run("serve", "--site", self.site, "--port", str(self.port))
        self.assertEqual(said.code, 64, said)
        self.assertIn(f"port {self.port} is taken", said.err)

    def test_a_few_ranges_of_a_file_and_not_more(self):
        host = f"127.0.0.1:{self.port}"
        answer = ask(self.port, request("GET", "/", [host], ["Range: bytes=1-3"]))
        self.assertEqual((answer.status, answer.body), (206, FILES["index.html"][1:4]))
        for num_ranges in (5, 1000):
            ranges = ",".join(["0-"] * num_ranges)
            answer = ask(self.port, request("GET", "/", [host], [f"Range: bytes={ranges}"]))
            self.assertEqual(answer.status, 416)
            self.assertLess(len(answer.body), 200)
            self.assertIn("content-security-policy", answer.headers)

    def test_clients_that_send_slowly_do_not_hold_it(self):
        with Running("--site", self.site) as running:
            clients = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(24)]
            ends = threading.Event()

            def drip():
                while not ends.wait(0.1):
                    for client in clients:
                        try:
                            client.send(b"x")
                        except OSError:
                            pass

            dripping = threading.Thread(target=drip)
            dripping.start()
            try:
                time.sleep(0.5)
                running.process.send_signal(signal.SIGINT)
                self.assertEqual(running.process.wait(timeout=2), 0)
            finally:
                ends.set()
                dripping.join()
                for client in clients:
                    client.close()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_an_address_that_cannot_be_told_is_a_fault(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([program.PROGRAM, "serve", "--site", self.site], stdout=full,
                                  stderr=subprocess.PIPE, env=environment(), timeout=10)
        self.assertEqual(done.returncode, 70)
        self.assertIn(b"could not be written", done.stderr)

    def test_ctrl_c_ends_it_cleanly_and_soon(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Running("--site", self.site) as running:
                running.process.send_signal(number)
                self.assertEqual(running.process.wait(timeout=5), 0)
                self.assertEqual(running.process.stderr.read(), b"")

    def test_a_folder_without_a_page_is_refused(self):
        for folder, words in ((self.folder.name, "no index.html"), ("/nonexistent", "no such folder")):
            said = run("serve", "--site", folder)
            self.assertEqual(said.code, 65, said)
            self.assertIn(words, said.err)

    def test_ports_out_of_range(self):
        for port in ("-1", "65536", "many"):
            said = run("serve", "--site", self.site, "--port", port)
            self.assertEqual(said.code, 64, said)
            self.assertIn("--port", said.err)


if __name__ == "__main__":
    program.take_program()
    unittest.main()
