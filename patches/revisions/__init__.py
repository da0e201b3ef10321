# SPDX-License-Identifier: GPL-2.0-or-later
"""Two versions of a source tree, as git or a patch has them, and what compilers make of their records."""
