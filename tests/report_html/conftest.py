# SPDX-License-Identifier: GPL-2.0-or-later
"""One browser for all tests of pages, a server that nobody may ask, and a real run."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from report_html.browser import Browser, browsing
from tuning.project import BRIEF, SYNTAX_ERROR, benched, project

from linesmith.analyzer.model import Variant

# The tail begins a line of its own, which makes whatever holds such a queue larger.
ALIGNED = """\
--- a/queue.h
+++ b/queue.h
@@ -1,5 +1,5 @@
 struct queue {
   long head;
-  long tail;
+  long tail __attribute__((aligned(64)));
   char name[112];
 } __attribute__((aligned(64)));
"""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this run."""
    with browsing() as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The same with an empty memory and usual looks."""
    chromium.do("Page.navigate", url="about:blank")
    chromium.look()
    chromium.settle()
    chromium.events.clear()
    return chromium


class Canary(HTTPServer):
    """A server on this machine that notes what it is asked for."""

    asked: list[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def canary() -> Iterator[Canary]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has there
            """Say nothing."""

    server = Canary(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def benched_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a tiny program with its profile: one patch that helps, and one that does not compile."""
    folder = project(tmp_path_factory.mktemp("project"))
    with (folder / "tree" / "queue.h").open("a") as header:
        header.write("struct pool { long used; struct queue queue; } pool;\n")
    variants = [Variant("apart", (ALIGNED,)), Variant("broken", (SYNTAX_ERROR,))]
    benched(folder / "tune.run", folder, variants, BRIEF)
    met = (RowSpec(at, (0, 500, 500, 0, 0), 16 + at, name, "queue", "", "u") for at, name in ((0, "push"), (8, "pull")))
    (folder / "tune.run" / "profile").write_text(render(ReportSpec((LineSpec(0x1000, tuple(met)),))))
    return folder / "tune.run"


def _page(folder: Path, *files: Path) -> Path:
    done = linesmith("report", *files, "--html", folder / "out.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "out.html"


@pytest.fixture(scope="session")
def run_page(benched_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of that run."""
    return _page(tmp_path_factory.mktemp("page"), benched_run)


@pytest.fixture(scope="session")
def profile_page(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the profile of the example program."""
    return _page(tmp_path_factory.mktemp("page"), example / "bench", example / "bench.c2c")
