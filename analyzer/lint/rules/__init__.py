# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of ``linesmith lint``: one file and one page each."""
