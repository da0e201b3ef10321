# SPDX-License-Identifier: GPL-2.0-or-later
"""A layout's text in the columns that a message has."""

from __future__ import annotations

from linesmith.patches.narrow import narrow


def lines(text: str) -> list[str]:
    """An indented literal as lines; its last one is empty."""
    return [line[8:] for line in text.strip("\n").splitlines()[:-1]]


def test_tabs_are_halved_and_columns_stay_where_that_is_enough() -> None:
    wide = """
          struct s {
                long int                   first;                /*     0     8 */
        >       struct {
                        long int           inner;                /*     8     8 */
                };                                               /*     8     8 */
        """
    assert narrow(lines(wide), 73) == lines("""
          struct s {
              long int                   first;                /*     0     8 */
        >     struct {
                  long int           inner;                /*     8     8 */
              };                                               /*     8     8 */
        """)


def test_columns_move_together_where_a_line_is_too_long() -> None:
    wide = """
          struct s {
                const struct operations *  a_ops;                /*   112     8 */ /* 12 of 40 loads */
        >       long unsigned int          flags __attribute__((__aligned__(64))); /*   128     8 */
                struct name_that_is_longer_than_any_column * other; /*   136     8 */
                unsigned int               bit:1;                /*   144: 0  4 */
                struct {
                        long int           inner;                /*   152     8 */
                } __attribute__((__aligned__(8)));               /*   152     8 */

                /* XXX 8 bytes hole, try to pack */
          };
        """
    assert narrow(lines(wide), 73) == lines("""
          struct s {
              const struct operations * a_ops;
                                                 /* 112 8 */ /* 12 of 40 loads */
        >     long unsigned int         flags __attribute__((__aligned__(64)));
                                                                      /* 128 8 */
              struct name_that_is_longer_than_any_column * other;
                                                                      /* 136 8 */
              unsigned int              bit:1;   /*   144: 0  4 */
              struct {
                  long int              inner;   /*   152     8 */
              } __attribute__((__aligned__(8))); /*   152     8 */

              /* XXX 8 bytes hole, try to pack */
          };
        """)


def test_a_declaration_that_is_too_long_gives_up_its_column_and_then_its_attribute() -> None:
    wide = """
          struct s {
                struct name_of_thirty_characters * a; /*     0     8 */
        >       atomic_long_t              load_average __attribute__((__aligned__(64))); /*    64     8 */
                struct name_of_thirty_characters * behind_it __attribute__((__aligned__(64))); /*   128     8 */
          };
        """
    assert narrow(lines(wide), 73) == lines("""
          struct s {
              struct name_of_thirty_characters * a; /*     0     8 */
        >     atomic_long_t load_average __attribute__((__aligned__(64)));
                                                                       /* 64 8 */
              struct name_of_thirty_characters * behind_it
                  __attribute__((__aligned__(64)));
                                                                      /* 128 8 */
          };
        """)
