# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of the structure where no order of members can win; each needs evidence, and none is guessed."""
