# SPDX-License-Identifier: GPL-2.0-or-later
"""What every other package may use: how programs are run, how files are written, and how text of others is shown."""
