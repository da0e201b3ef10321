// SPDX-License-Identifier: GPL-2.0-or-later
// Changes of the state of a line, and what they cost whom.
#ifndef LINESMITH_TRANSITION_H
#define LINESMITH_TRANSITION_H

#include "simulation.h"

// An access that the state of the line does not allow as it is.
void transition_access(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot,
                       const struct line_access *access);

// Records an access that hit, of a line whose hits are recorded.
void transition_hit(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                    const struct line_access *access);

// Marks a line as just used by a finite cache; the line that makes room loses its copy.
void transition_use(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot);

#endif
