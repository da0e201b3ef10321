/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers, each on a CPU of its own, that meet after every round of work; how long a round takes. */
#ifndef TEAM_H
#define TEAM_H

#include <stdint.h>

/* What the worker `self` of `workers`, counted from 0, does in one round. The result is what it found,
 * whatever that is: it keeps compilers from leaving the work out. */
typedef uint64_t (*round_function)(int self, int workers);

/* main() of every program: `PROGRAM WORKERS [ROUNDS]` prints `operations_per_second X`, each round being so
 * many `operations`.
 *
 * The rate is that of the median round. A round lasts until all workers are done with it, so one from which a
 * CPU was taken away is a long one, and as long as most rounds are not disturbed the rate is what it is on an
 * idle machine. */
int team_main(int argc, char **argv, round_function work, uint64_t operations);

/* Called for each look in vain at what a colleague is to change: after many of them the CPU is left to
 * others. */
void look_again(int looks);

#endif
