# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of a record's members that costs least: an exact solver, with a bound where it cannot finish."""
