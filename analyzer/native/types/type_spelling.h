// SPDX-License-Identifier: GPL-2.0-or-later
// Names of accessed types as C writes them.
#pragma once

#include <string>

#include "layouts/type_chain.h"
#include "records/record_set.h"
#include "types/type_graph.h"

namespace linesmith {

// Records need the keyword that their DIE tells; others are spelled from the graph.
class TypeSpelling {
 public:
  TypeSpelling(UnitPool& pool, const RecordSet& records) : chain_(pool), records_(records) {}

  // "struct inode", "list_t", "unsigned int", "struct inode *".
  std::string Of(TypeGraph& graph, TypeId type);

 private:
  std::string OfRecord(const TypeNode& record);

  TypeChain chain_;
  const RecordSet& records_;
};

}  // namespace linesmith
