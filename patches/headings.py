# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments above a member that are about a section of the record, told by their words alone.

Only the words count, so that a record cut into atoms again after a change is cut in the same way.
"""

from __future__ import annotations

import re

_OF_SECTION = re.compile(
    rb"""\A[/*\s]*(?:
         [-=\#~]{2,}                                                     # -- hardware --
       | \*{4,}
       | (?:all\s+|the\s+)*(?:following|below|next|last|first)\s+(?:are|two|three|four|few|several|fields|members)\b
       | these\b
       | (?:the\s+|all\s+)?(?:fields|members)\s+(?:below|only|used|which|that|to|for|with|protected|enclosed|are|not)\b
       | (?:[\w/-]+\s+){0,4}(?:fields|members)[.:]?\s*(?:\*/|\Z)         # read-mostly fields
       )
       | [-=\#~]{3,}\s*\*/\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def is_of_section(comment: bytes) -> bool:
    """Whether a comment right above a member speaks of several; what names a member with ``@`` is that one's."""
    return b"@" not in comment and bool(_OF_SECTION.search(comment.strip()))
