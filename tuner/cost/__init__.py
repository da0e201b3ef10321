# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout costs under a profile: meetings on lines over the phases of its objects, memory, how sure that is."""
