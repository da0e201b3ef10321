# SPDX-License-Identifier: GPL-2.0-or-later
"""What is there: layouts, profiles, attribution and findings."""
