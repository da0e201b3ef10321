# SPDX-License-Identifier: GPL-2.0-or-later
"""Who includes a file, by the text: through other files, through loops, whatever the conditions say."""

from __future__ import annotations

from pathlib import Path

from patch_cases import write_files

from linesmith.patches.matrix.includes import Includes

FILES = {
    "include/linux/s.h": "",
    "include/linux/a.h": "#include <linux/b.h>\n",
    "include/linux/b.h": "#include <linux/a.h>\n#ifdef NEVER\n# include\t<linux/s.h>\n#endif\n",
    "include/forced.h": "#include <linux/s.h>\n",
    "fs/local.h": "#include <linux/a.h>\n",
    "fs/direct.c": "#include <linux/s.h>\n",
    "fs/through.c": '#include "local.h"\n',
    "fs/apart.c": '/* #include <linux/s.h> would */\n#include "nowhere.h"\n',
}
UNITS = ("fs/direct.c", "fs/through.c", "fs/apart.c")


def test_units_reach_a_file_directly_and_through_others(tmp_path: Path) -> None:
    includes = Includes(write_files(tmp_path, FILES), [tmp_path / "include"])
    assert includes.including(UNITS, ["include/linux/s.h"]) == {"fs/direct.c", "fs/through.c"}


def test_a_unit_reaches_itself(tmp_path: Path) -> None:
    includes = Includes(write_files(tmp_path, FILES), [tmp_path / "include"])
    assert includes.including(UNITS, ["fs/apart.c"]) == {"fs/apart.c"}


def test_a_file_that_is_forced_upon_all_makes_all_reach_what_it_includes(tmp_path: Path) -> None:
    includes = Includes(write_files(tmp_path, FILES), [tmp_path / "include"])
    forced = [str(tmp_path / "include/forced.h")]
    assert includes.including(UNITS, ["include/linux/s.h"], forced) == set(UNITS)
