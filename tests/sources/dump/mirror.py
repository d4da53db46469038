"""A server of dumps on this machine, which does wrong what it is told to."""

import bz2
import hashlib
import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WIKI, DATE = "arwiki", "20260901"
NAME = f"{WIKI}-{DATE}-pages-articles.xml.bz2"
PAGES = b"".join(b"<page><title>%d</title></page>\n" % i for i in range(3000))
CONTENT = bz2.compress(b"<mediawiki>\n" + PAGES) + bz2.compress(PAGES + b"</mediawiki>\n")
"""Two streams, as in a multi-stream dump."""
FIRST_STREAM = len(bz2.compress(b"<mediawiki>\n" + PAGES))
WEB_PAGE = b"<!DOCTYPE html><html><body>Back soon</body></html>"


def sha1(content):
    """Return the SHA-1 as Wikimedia lists it."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def status(files=None, *, state="done", hashes=True, job="articlesdump"):
    """Return a dumpstatus.json for `files`, name -> content."""
    listed = {}
    for name, content in (files or {NAME: CONTENT}).items():
        listed[name] = {"size": len(content), "url": f"/{WIKI}/{DATE}/{name}", "md5": "0" * 32}
        if hashes:
            listed[name]["sha1"] = sha1(content) if hashes is True else hashes
    jobs = {job: {"status": state, "updated": "2026-09-03 01:02:03", "files": listed}, "xmlstubsdump": {}}
    return json.dumps({"version": "0.8", "jobs": jobs}).encode()


class Mirror:
    """Files by name, and for each name the faults of its next requests; a request without one is served well.

    A fault is a dict of what is unusual about one answer: `code`, `headers`, `body` (in place of the file's), `cut`
    (bytes after which the connection breaks), `length` (a lie; None: not said), `delay` (seconds), `no_range`, `shift`
    (bytes that a range begins late).
    """

    def __init__(self, url):
        self.files = {"dumpstatus.json": status(), NAME: CONTENT}
        self.faults = {}
        self.requests = []
        self.url = url

    def fail(self, *faults, name=NAME):
        """Answer the next requests for `name` with `faults`, one each; an ellipsis at the end repeats the last."""
        self.faults[name] = deque(faults)

    def ranges(self, name=NAME):
        """Return the Range of every request for `name`."""
        return [headers.get("Range") for path, headers in self.requests if path.endswith(name)]

    def next_fault(self, name):
        """Return what is to be wrong with this answer."""
        waiting = self.faults.get(name, deque())
        if len(waiting) == 2 and waiting[1] is ...:
            return waiting[0]
        return waiting.popleft() if waiting else {}


class Handler(BaseHTTPRequestHandler):
    """Answers for the mirror of its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        mirror = self.server.mirror
        mirror.requests.append((self.path, self.headers))
        folder, _, name = self.path.rpartition("/")
        fault = mirror.next_fault(name)
        time.sleep(fault.get("delay", 0))
        content = mirror.files.get(name) if folder == f"/{WIKI}/{DATE}" else None
        if fault.get("code") or content is None:
            self.answer(fault.get("code", 404), fault.get("body", WEB_PAGE), fault, {"Content-Type": "text/html"})
        else:
            self.send(content, fault)

    def send(self, content, fault):
        tag = f'"{sha1(content)[:8]}"'
        start = 0
        asked = self.headers.get("Range")
        if asked and not fault.get("no_range") and self.headers.get("If-Range") in {None, tag}:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            self.answer(416, b"", fault, {"Content-Range": f"bytes */{len(content)}"})
        elif start:
            start += fault.get("shift", 0)
            place = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(206, content[start:], fault, {"ETag": tag, "Content-Range": place})
        else:
            self.answer(200, fault.get("body", content), fault, {"ETag": tag})

    def answer(self, code, body, fault, headers):
        self.send_response(code)
        length = str(fault.get("length", len(body)))
        headers = {"Content-Type": "application/octet-stream", "Content-Length": length} | headers
        for header, value in (headers | fault.get("headers", {})).items():
            if value != "None":
                self.send_header(header, value)
        if "cut" in fault or "length" in fault:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body[: fault.get("cut", len(body))])

    def log_message(self, *arguments):
        pass


@contextmanager
def serving():
    """Run a mirror in a thread."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.mirror = Mirror(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.mirror
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
