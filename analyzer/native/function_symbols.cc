// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_symbols.h"

#include <elf.h>

#include "symbol_table.h"

namespace linesmith {

std::vector<FunctionSymbol> ReadFunctionSymbols(ElfFile& elf) {
  const ElfSection* table = FindSymbolTable(elf);
  if (table == nullptr) return {};
  std::vector<FunctionSymbol> functions;
  for (const ElfSymbol& symbol : ReadSymbolTable(elf, *table).symbols) {
    if (symbol.type != STT_FUNC || symbol.size == 0) continue;
    if (symbol.section == SHN_UNDEF || symbol.section > elf.sections().size()) continue;
    const std::uint64_t start = elf.sections()[symbol.section - 1].address;
    if (symbol.value < start) continue;
    functions.push_back({.name = symbol.name,
                         .section = symbol.section,
                         .offset = symbol.value - start,
                         .size = symbol.size});
  }
  return functions;
}

}  // namespace linesmith
