// SPDX-License-Identifier: GPL-2.0-or-later
#include "directory.h"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace linesmith::replay {

Directory MakeDirectory(const Machine& machine, const DirectoryBounds& bounds) {
  coherence_config config = coherence_default_config(machine.cpus);
  config.line_bytes = bounds.line_bytes;
  std::copy(machine.node_of_cpu.begin(), machine.node_of_cpu.end(), config.node_of_cpu);
  config.max_lines = bounds.lines;
  config.max_contended = bounds.lines;
  config.max_accesses = 0;
  config.max_pairs = bounds.pairs;
  if (const char* complaint = coherence_check(&config)) throw std::invalid_argument(complaint);
  Directory sim(coherence_create(&config));
  if (!sim) throw std::bad_alloc();
  return sim;
}

}  // namespace linesmith::replay
