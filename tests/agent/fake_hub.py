"""A hub on loopback that answers as the real one does (statuses, X-Error-Code, redirects), and a second
server that plays its content network. Both keep what they were asked."""
import gzip
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD_TOKEN = "hf_goodtokengoodtokengoodtoken"
COMMIT = "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"


class Server:
    def __init__(self, handler):
        self.requests = []  # (path, Authorization or None)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.requests.append((self.path, self.headers.get("Authorization")))
                status, headers, body = handler(self.path, self.headers.get("Authorization"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_):
                pass

        class QuietServer(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that went away in the middle of a large answer

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class FakeHub:
    def __init__(self, config):
        self.config = json.dumps(config).encode()
        self.busy_left = 2
        self.cdn = Server(self.answer_as_cdn)
        self.hub = Server(self.answer)
        self.address = self.hub.address

    def close(self):
        self.hub.close()
        self.cdn.close()

    def answer_as_cdn(self, path, _):
        if path.startswith("/evil"):
            return 200, {"Content-Type": "application/json"}, b'{"evil": true}'
        return 200, {"Content-Type": "application/octet-stream"}, self.config

    def found(self, **headers):
        return 200, {"Content-Type": "application/json", "X-Repo-Commit": COMMIT, **headers}, self.config

    @staticmethod
    def error(status, code="", message="", **headers):
        if code:
            headers["X-Error-Code"] = code
        if message:
            headers["X-Error-Message"] = message
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return status, headers, message.encode()

    def answer(self, path, authorization):
        path = urllib.parse.unquote(urllib.parse.urlparse(path).path)
        good = authorization == f"Bearer {GOOD_TOKEN}"
        if authorization and not good:
            if not path.startswith("/org/gated/"):
                return self.error(401, message="Invalid credentials in Authorization header")
            return self.error(401, "GatedRepo", "Access to model org/gated is restricted.")
        parts = path.strip("/").split("/")
        if path.startswith("/api/resolve-cache/"):
            return self.found()
        if "resolve" not in parts:
            return self.error(404, message="Not a file")
        at = parts.index("resolve")
        name, revision, file = "/".join(parts[:at]), "/".join(parts[at + 1:-1]), parts[-1]
        return self.answer_for(name, revision, file, good)

    def answer_for(self, name, revision, file, good):
        if revision not in ("main", "v1.0", "refs/pr/7", COMMIT, "main/small"):
            return self.error(404, "RevisionNotFound", "Invalid rev id")
        if file not in ("config.json", "other.json"):
            return self.error(404, "EntryNotFound", "Entry not found")
        if name == "org/good":
            location = f"/api/resolve-cache/models/org/good/{COMMIT}/config.json"
            return 307, {"Location": location, "X-Repo-Commit": COMMIT}, b""
        if name == "oldname":
            return 307, {"Location": f"/org/good/resolve/{revision}/config.json"}, b"Temporary Redirect"
        if name == "org/cdn":
            return 302, {"Location": f"{self.cdn.address}/repo/config?signature=1", "X-Repo-Commit": COMMIT}, b""
        if name == "org/gated":
            return self.found() if good else self.error(401, "GatedRepo", "Access to model org/gated is restricted.")
        if name == "org/refused":
            return self.error(403, "GatedRepo", "Access to model org/refused is restricted.")
        if name == "org/noconfig":
            return self.error(404, "EntryNotFound", "Entry not found")
        if name == "org/disabled":
            return self.error(403, message="Access to this resource is disabled.")
        if name == "org/busy":
            self.busy_left -= 1
            return self.found() if self.busy_left < 0 else self.error(429, Retry_After="0")
        if name == "org/toobusy":
            return self.error(429, RateLimit='"resolvers";r=0;t=137')
        if name == "org/broken":
            return self.error(500, message="Internal Error - We're working hard to fix this!", Retry_After="0")
        if name == "org/teapot":
            return self.error(418, message="short and \x1b[31mstout")
        if name == "org/signin":
            return 200, {"Content-Type": "text/html; charset=utf-8"}, b"<!doctype html><title>Sign in</title>"
        if name == "org/huge":
            return 200, {"Content-Type": "application/json"}, b'{"a": "' + b"x" * (11 << 20) + b'"}'
        if name == "org/bomb":
            packed = gzip.compress(b" " * (64 << 20))
            return 200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, packed
        if name == "org/loop":
            return 307, {"Location": "/org/loop/resolve/main/config.json"}, b""
        if name == "org/tofile":
            return 302, {"Location": "file:///etc/passwd"}, b""
        if name == "org/junk":
            return 200, {"Content-Type": "application/json"}, b'{"model_type": "llama", '
        return self.error(404, "RepoNotFound", "Repository not found") if good else self.error(
            401, message="Invalid username or password.")
