# SPDX-License-Identifier: GPL-2.0-or-later
"""What the sources of a build show of a record: where it stands, who depends on its order, who uses it."""
