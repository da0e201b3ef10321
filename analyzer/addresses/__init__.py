# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the addresses of a profile lie: symbols, variables, the objects of a snapshot."""
