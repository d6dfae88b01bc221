"""In place of Prefect's server: it says that it is healthy, and ends as that one does. Run by `test_home_server.py`."""

from __future__ import annotations

import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from flows.home_server.process import end_when_unused


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Listening(HTTPServer):
    def server_bind(self) -> None:
        self.socket.close()
        self.socket = socket.socket(fileno=int(sys.argv[1]))
        self.server_name, self.server_port = "localhost", 0

    def server_activate(self) -> None:
        pass  # it listens


arguments = (float(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]), lambda: os._exit(0))
threading.Thread(target=end_when_unused, args=arguments, daemon=True).start()
Listening(("127.0.0.1", 0), Healthy).serve_forever()
