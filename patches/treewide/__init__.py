# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of a whole tree by semantic patches (Coccinelle), made in a scratch image of the tree."""
