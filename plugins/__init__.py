# SPDX-License-Identifier: GPL-2.0-or-later
"""Where linesmith meets other tools: protocols, the registry, and the built-in plugins."""
