# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data files, read without perf (tools/perf/Documentation/perf.data-file-format.txt)."""
