// SPDX-License-Identifier: GPL-2.0-or-later
// Changes of the state of a line, and what they cost whom.
#ifndef LINESMITH_TRANSITION_H
#define LINESMITH_TRANSITION_H

#include "simulation.h"

// An access that the state of the line does not allow as it is.
void transition_access(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot,
                       const struct line_access *access);

// Counts an event in the access record of a line with a detail.
void transition_record(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                       const struct line_access *access, enum event event);

// Marks a line as just used by a finite cache; the line that makes room loses its copy.
void transition_use(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot);

#endif
