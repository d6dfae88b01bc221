"""A receiver of messages on this machine: HTTP, or mail by SMTP. It remembers what it got, and can refuse or be silent."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from dataclasses import dataclass, field
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """got: (path, content) of each message. status: what it answers; seconds: after how long."""

    port: int = 0
    status: int = 200
    seconds: float = 0.0
    got: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def subjects(self) -> list[str]:
        return [content["subject"] for _, content in self.got]

    @property
    def texts(self) -> str:
        return "\n".join(content["text"] for _, content in self.got)


def http_receiver() -> tuple[Receiver, ThreadingHTTPServer]:
    """Serve until `shutdown` is called on the second."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["content-length"])))
            time.sleep(receiver.seconds)
            if receiver.status == 200:
                receiver.got.append((self.path, content))
            self.send_response(receiver.status)
            self.end_headers()

        def do_GET(self) -> None:
            time.sleep(receiver.seconds)
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return receiver, server


def mail_receiver() -> tuple[list[Any], socketserver.TCPServer]:
    """A mail server that takes everything; the messages, and the server (its port is `server_address[1]`)."""
    got: list[Any] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline().strip().upper():
                if line == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = iter(self.rfile.readline, b".\r\n")
                    got.append(message_from_string(b"".join(lines).decode(), policy=policy.default))
                self.wfile.write(b"221 bye\r\n" if line == b"QUIT" else b"250 yes\r\n")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return got, server
