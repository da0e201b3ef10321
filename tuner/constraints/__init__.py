# SPDX-License-Identifier: GPL-2.0-or-later
"""What no proposal may do to a record, each rule with its reason and its source; one file per rule or family."""
