"""A stand-in for Amazon Translate on loopback, for a real boto3 client: same protocol, same errors.

It "translates" word by word (so that a target is found in its sentence) and keeps BLANK only if a
terminology says so, as the service does.
"""

import base64
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "AKIASTANDIN"
PREFIX = "AWSShineFrontendService_20170701."

# What a misbehaviour answers: HTTP status, error code, message.
ERRORS = {
    "throttle": (400, "ThrottlingException", "Rate exceeded"),
    "server error": (500, "InternalServerException", "try later"),
    "unavailable": (503, "ServiceUnavailableException", "try later"),
    "language": (400, "UnsupportedLanguagePairException", "Unsupported language pair: en to xx."),
    "too long": (400, "TextSizeLimitExceededException", "Input text size exceeds limit. Max 10000 bytes"),
}


def pseudo(text: str, keep_blank: bool) -> str:
    """Every word gets an ending; BLANK is translated unless it is kept."""
    blank = "BLANK" if keep_blank else "vuoto"
    return re.sub(r"\w+", lambda m: blank if m[0] == "BLANK" else m[0] + "o", text)


class StandIn(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.asked: list[str] = []  # every text that came in, in order
        self.answered: list[str] = []  # every text whose answer left whole
        self.times: Counter[str] = Counter()  # how often each text came in
        self.calls: list[str] = []  # other operations
        self.terminologies: dict[str, bytes] = {}
        self.most_at_once = 0
        self.at_once = 0
        self.delay = 0.0
        self.misbehave: Callable[[str, int], str | None] = lambda text, times: None
        self.after_answer: Callable[[], None] = lambda: None
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address) -> None:
        """A client that was killed is what the tests are about, not an error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def log_message(self, *args) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].removeprefix(PREFIX)
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            return self.error(400, "UnrecognizedClientException", "The security token is invalid.")
        if operation != "TranslateText":
            return self.terminology(operation, body)
        return self.translate(body)

    def terminology(self, operation: str, body: dict) -> None:
        self.server.calls.append(operation)
        if operation == "ImportTerminology":
            table = base64.b64decode(body["TerminologyData"]["File"])
            self.server.terminologies[body["Name"]] = table
            return self.send(200, {"TerminologyProperties": {"Name": body["Name"]}})
        if self.server.terminologies.pop(body["Name"], None) is None:
            return self.error(400, "ResourceNotFoundException", body["Name"])
        return self.send(200, {})

    def translate(self, body: dict) -> None:
        server, text = self.server, body["Text"]
        with server.lock:
            times = server.times[text]
            server.times[text] += 1
            server.asked.append(text)
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            if server.delay:
                time.sleep(server.delay)
            how = server.misbehave(text, times)
            if how in ERRORS:
                return self.error(*ERRORS[how])
            if how == "silence":
                time.sleep(3)
                return self.cut(b"")
            keep = how != "lose BLANK" and any(
                b"BLANK,BLANK" in server.terminologies.get(name, b"")
                for name in body.get("TerminologyNames", [])
            )
            answer = {
                "TranslatedText": "" if how == "empty" else pseudo(text, keep),
                "SourceLanguageCode": body["SourceLanguageCode"],
                "TargetLanguageCode": body["TargetLanguageCode"],
            }
            if how == "cut":
                return self.cut(json.dumps(answer).encode()[:12])
            self.send(200, answer)
            with server.lock:
                server.answered.append(text)
        finally:
            with server.lock:
                server.at_once -= 1
        server.after_answer()

    def error(self, status: int, code: str, message: str) -> None:
        self.send(status, {"__type": code, "message": message})

    def send(self, status: int, content: dict) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def cut(self, part: bytes) -> None:
        """The head promises a whole answer; the connection ends after a part of it."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", "500")
        self.end_headers()
        self.wfile.write(part)
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
