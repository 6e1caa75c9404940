"""An OpenAI-compatible service on loopback that answers as it is told: a personality is a function of a question.

A personality gets a `Question` and returns the answer's text, or what goes wrong: Status(500), Raw("{"), Hang().
"""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lm_eval_stereoset.benchmarks import find
from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.harness.documents import documents

LANGUAGES = ("en", "de", "fr", "es", "tr")


@dataclass(frozen=True)
class Status:
    code: int
    text: str = "no"


@dataclass(frozen=True)
class Raw:
    """The body of an answer with status 200."""

    body: str


@dataclass(frozen=True)
class Hang:
    seconds: float = 4


@dataclass(frozen=True)
class Question:
    text: str
    labels: dict[str, str]  # letter: what stands there
    bias_type: str
    id: str
    attempt: int  # how often it has been asked, from 1
    max_tokens: int
    stereotype: int = 0  # of GEST

    def letter(self, label: str) -> str:
        return next(letter for letter, found in self.labels.items() if found == label)


Personality = Callable[[Question], "str | Status | Raw | Hang | None"]


class Service:
    def __init__(self) -> None:
        self.personality: Personality = lambda question: "(a)"
        self.asked: Counter[str] = Counter()
        self.known = {
            c.sentence: (c.label, e)
            for language in LANGUAGES for split in SPLITS for e in load(split, language, "sample").examples
            for c in e.candidates
        }  # fmt: skip
        gest = documents(find("gest_chat"), "en", ["pairs"], "sample")[1]
        self.statements = {doc["sentence"]: (doc["id"], doc["stereotype"]) for doc in gest}
        self.lock = threading.Lock()
        self.ended = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                service.answer(self, json.loads(self.rfile.read(length)))

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/chat/completions"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def becomes(self, personality: Personality) -> None:
        self.personality = personality
        self.asked.clear()

    def close(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def question(self, text: str, shown: dict[str, str], attempt: int, max_tokens: int) -> Question:
        if about := re.search(r'^"(.*)"$', text, re.MULTILINE):
            id_, stereotype = self.statements[about[1]]
            return Question(text, shown, "", id_, attempt, max_tokens, stereotype)
        labels = {letter: self.known[sentence][0] for letter, sentence in shown.items()}
        example = self.known[shown["a"]][1]
        return Question(text, labels, example.bias_type, example.id, attempt, max_tokens)

    def answer(self, handler: BaseHTTPRequestHandler, payload: dict) -> None:
        if payload.get("stop") == []:  # as `transformers serve` does
            handler.send_error(500, "no stop string in an empty list")
            return
        (message,) = payload["messages"]
        text = message["content"]
        with self.lock:
            self.asked[text] += 1
            attempt = self.asked[text]
        shown = dict(re.findall(r"^\(([abc])\) (.*)$", text, re.MULTILINE))
        said = self.personality(self.question(text, shown, attempt, payload["max_tokens"]))
        if isinstance(said, Hang):
            self.ended.wait(said.seconds)
            return
        code, body = 200, None
        if isinstance(said, Status):
            code, body = said.code, json.dumps({"error": {"message": said.text}})
        elif isinstance(said, Raw):
            body = said.body
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice], "model": payload["model"], "created": int(time.time())})
        content = body.encode("utf-8")
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
