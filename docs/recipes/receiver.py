"""Receive webhooks on this machine, and verify each. Usage: POSTERN_SECRET_FILE=secret.txt python3 receiver.py 8080"""
import hashlib, hmac, json, os, sys
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = open(os.environ["POSTERN_SECRET_FILE"], encoding="utf-8").read().removesuffix("\n")  # as Postern reads it
if not SECRET:
    sys.exit("The secret is empty.")
MAX_BYTES = 1_000_000
latest = deque(maxlen=1000)  # delivery ids: an event can come twice


def is_genuine(body: bytes, signature: str) -> bool:
    expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


def handle(event: dict) -> None:
    print(json.dumps(event), flush=True)  # your own work; more than a few seconds of it belong into a queue


class Hook(BaseHTTPRequestHandler):
    timeout = 10  # seconds for a client that sends nothing

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BYTES:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_genuine(body, self.headers.get("X-Webhook-Signature", "")):
            return self.answer(401)
        delivery = self.headers.get("X-Webhook-Delivery", "")
        if delivery not in latest:
            handle(json.loads(body))  # if it fails, nothing is answered, and Postern tries again
            latest.append(delivery)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hook)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
