# SPDX-License-Identifier: GPL-2.0-or-later
"""The lint of layouts: records of one build, or of two side by side, held against rules and intents."""
