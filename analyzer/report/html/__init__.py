# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports as one page of HTML: no network, no script, everything from files escaped and visible."""
