// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates and traces what the journal says that virtual CPUs did.
#ifndef LINESMITH_FOLLOW_H
#define LINESMITH_FOLLOW_H

#include "run.h"

/** Has the simulation, and the trace where one is written, read the journal. */
void follow_open(struct run *run);

/** Returns when all that virtual CPUs have done is counted. None of them runs. */
void follow_settle(struct run *run);

#endif
