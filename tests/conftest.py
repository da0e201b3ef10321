# SPDX-License-Identifier: GPL-2.0-or-later
"""The real parts that tests run on, and the cache directory that keeps tests away from the user's own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import pytest
from demo.example import example_program
from hypothesis import is_hypothesis_test, settings
from keeping import Keeper
from run_times import table

CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
REAL_PARTS = CACHE_HOME / "linesmith-tests"
_OWN_SETTINGS = "_hypothesis_internal_use_settings"


def pytest_configure() -> None:
    """Let interrupts through to what the tests start; examples of properties are the same in every run, and untimed.

    A shell makes its background jobs ignore interrupts. ``--explore`` looks for examples that no run has seen.
    """
    settings.register_profile("repeatable", settings(), deadline=None, derandomize=True, database=None)
    settings.load_profile("repeatable")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # readline, which pytest imports, gives child processes these, and os.environ does not know of it.
    for name in {"COLUMNS", "LINES"} - os.environ.keys():
        os.unsetenv(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that choose tests: ``--explore TIMES`` and ``--sample COUNT``."""
    parser.addoption("--explore", type=int, metavar="TIMES", help="property tests alone, with TIMES the examples")
    parser.addoption(
        "--sample", type=int, metavar="COUNT", help="COUNT tests of those that -m chooses, drawn by SAMPLE_SEED"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose tests, and tell ``--dist loadgroup`` their groups: pytest-xdist 3.8 cannot with pytest 9.2."""
    _choose(config, items)
    if getattr(config.option, "loadgroup", False):
        # An older pytest has no such module, and needs no help.
        with suppress(ImportError):
            from _pytest.nodeid import coerce_node_id

            for item in items:
                group = item.get_closest_marker("xdist_group")
                if group is not None:
                    item._id = coerce_node_id(f"{item.nodeid}@{group.args[0]}")


def _choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests that ``--explore`` or ``--sample`` asks for; those of ``--explore`` look further.

    A sample has one case of each test that is drawn, and is the same for one seed in every process.
    """
    count: int | None = config.getoption("--sample")
    if count is not None:
        seed = os.environ.get("SAMPLE_SEED", "")
        order = sorted(items, key=lambda item: blake2b(f"{seed} {item.nodeid}".encode()).digest())
        one_case = {item.nodeid.partition("[")[0]: item for item in order}
        drawn = set(list(one_case.values())[:count])
        items[:] = [item for item in items if item in drawn]
    times: int | None = config.getoption("--explore")
    if times is None:
        return
    items[:] = [item for item in items if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)]
    for test in {item.function for item in items if isinstance(item, pytest.Function)}:
        # hypothesis keeps a test's own settings here and says of no other way to read them.
        own: settings = getattr(test, _OWN_SETTINGS, None) or settings()
        setattr(test, _OWN_SETTINGS, settings(own, max_examples=times * own.max_examples, derandomize=False))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show where the time went."""
    known = (report for some in terminalreporter.stats.values() for report in some)
    lines = list(table(one for one in known if isinstance(one, pytest.TestReport)))
    if lines:
        terminalreporter.section("where the time went")
        terminalreporter.write("\n".join((*lines, "")))


def absent(part: str) -> Path:
    """End the test: a failure where everything must run (``CI=true``), elsewhere a skip that says why."""
    reason = f"no {part} in {REAL_PARTS}; .ci/real-parts fetches it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def vmlinux() -> Path:
    """Debian's cloud kernel, with DWARF and BTF; never written to."""
    found = sorted(REAL_PARTS.glob("vmlinux-6.1.*"))
    return found[-1] if found else absent("vmlinux")


@pytest.fixture(scope="session")
def kernel_image() -> Path:
    """Debian's cloud kernel as it boots, of the same build as ``vmlinux``."""
    found = sorted(REAL_PARTS.glob("vmlinuz-*"))
    return found[-1] if found else absent("vmlinuz")


@pytest.fixture(scope="session")
def kernel_module() -> Path:
    """A module of the same kernel, not compressed."""
    module = REAL_PARTS / "fat.ko"
    return module if module.is_file() else absent("fat.ko")


@pytest.fixture(scope="session")
def kernel_tree() -> Path:
    """Debian's kernel source 6.1 with the ``.config`` of x86_64_defconfig, otherwise unprepared; never written to."""
    tree = REAL_PARTS / "linux-source-6.1"
    return tree if (tree / ".config").is_file() else absent("kernel tree")


@pytest.fixture(scope="session")
def kept() -> Keeper:
    """Where tests keep what they build between runs; call it with a name, a key of the content and who makes it."""
    return Keeper(Path(os.environ.get("TESTS_KEPT") or REAL_PARTS / "kept"))


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example program ``bench``, its sources and its profile ``bench.c2c``; it stays as it is."""
    return example_program(tmp_path_factory.mktemp("example") / "sources").parent


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Collected ``perf c2c`` reports, kept beside the checkout where they are at hand at all."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no collected reports in {folder}; CONTRIBUTING.md says what belongs there")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory for this run, shared by its worker processes; the user's cache and settings are not touched."""
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    cache.mkdir(exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    os.environ["XDG_CONFIG_HOME"] = str(cache / "no settings")
    os.environ.pop("LINESMITH_CACHE_DIR", None)
    return cache
