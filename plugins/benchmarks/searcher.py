# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of its own: reads a pattern and a text as JSON, writes what the pattern's group matched as JSON.

Its only word is how many seconds of CPU it may take: the kernel ends it then, even if nobody waits for it any more.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from itertools import islice

# More matches than this are no results but a pattern that fits everywhere.
MOST_MATCHES = 100_000


def found(pattern: str, group: str, text: str) -> list[str]:
    """What the group of that name, or the only group, matched; places where it took no part are left out."""
    expression = re.compile(pattern, re.MULTILINE)
    number = group if group in expression.groupindex else 1
    some = (match.group(number) for match in islice(expression.finditer(text), MOST_MATCHES))
    return [each for each in some if each is not None]


if __name__ == "__main__":
    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # a signal that can be told from others, first
    sys.stdout.write(json.dumps(found(**json.load(sys.stdin))))
