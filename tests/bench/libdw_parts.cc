// SPDX-License-Identifier: GPL-2.0-or-later
// libdw_parts FILE: what libdw takes for the parts of reading that it offers, beside ours, in CPU seconds.
// A part is worth having from libdw where it adds no more than a tenth to the reading of all records.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <vector>

#include "dwarf/debug_loader.h"
#include "dwarf/line_files.h"
#include "elf/debug_search.h"
#include "layouts/dwarf_reader.h"

namespace {

using linesmith::DebugInfo;

template <class Work>
double SecondsOf(Work work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::size_t Expressions(Dwarf_Die* die) {
  std::size_t count = 0;
  Dwarf_Attribute attribute;
  if (dwarf_attr(die, DW_AT_location, &attribute) != nullptr) {
    Dwarf_Addr base = 0, start = 0, end = 0;
    Dwarf_Op* expression = nullptr;
    std::size_t length = 0;
    for (ptrdiff_t at = 0;
         (at = dwarf_getlocations(&attribute, at, &base, &start, &end, &expression, &length)) > 0;) {
      ++count;
    }
  }
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return count;
  do {
    count += Expressions(&child);
  } while (dwarf_siblingof(&child, &child) == 0);
  return count;
}

std::vector<Dwarf_Die> RootsOf(Dwarf* dwarf) {
  std::vector<Dwarf_Die> roots;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) roots.push_back(root);
  return roots;
}

void Print(const char* part, double ours, double theirs, double all) {
  std::printf("%-42s %8.3f %8.3f %7.0f %%\n", part, ours, theirs, 100 * theirs / all);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("Usage: libdw_parts FILE\n", stderr);
    return 2;
  }
  const std::string path = arguments[1];
  const std::vector<std::string> directories = {"/usr/lib/debug"};
  std::unique_ptr<DebugInfo> info;
  const double our_units = SecondsOf([&] { info = linesmith::LoadDebugInfo(path, directories); });
  const double all = our_units + SecondsOf([&] { linesmith::ReadRecords(*info, 1, {}); });
  const double our_files = SecondsOf([&] {
    linesmith::UnitPool pool(*info);
    for (const linesmith::Unit* unit : info->units) {
      linesmith::LineFiles(*unit, pool.Open(*unit).root().Get(linesmith::Slot::kStatementList));
      pool.Trim();
    }
  });

  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Dwarf* dwarf = dwarf_begin(descriptor, DWARF_C_READ);
  if (dwarf == nullptr) {
    std::fprintf(stderr, "libdw_parts: %s: %s\n", arguments[1], dwarf_errmsg(-1));
    return 2;
  }
  std::vector<Dwarf_Die> roots;
  const double units = SecondsOf([&] { roots = RootsOf(dwarf); });
  const double files = SecondsOf([&] {
    for (Dwarf_Die& root : roots) {
      Dwarf_Files* table = nullptr;
      std::size_t entries = 0;
      dwarf_getsrcfiles(&root, &table, &entries);
    }
  });
  std::size_t found = 0;
  const double places = SecondsOf([&] {
    for (Dwarf_Die& root : roots) found += Expressions(&root);
  });
  dwarf_end(dwarf);
  close(descriptor);
  linesmith::ElfFile elf = linesmith::ElfFile::Open(path);
  const double search = SecondsOf([&] { linesmith::FindDebugFile(elf, directories); });

  std::printf("%s: all records in %.3f CPU seconds on one thread\n", arguments[1], all);
  std::printf("%-42s %8s %8s %9s\n", "part", "ours", "libdw", "of all");
  Print("unit headers", our_units, units, all);
  Print("file tables (libdw reads the lines, too)", our_files, files, all);
  std::printf("%-42s %8s %8.3f %7.0f %%  (%zu expressions)\n", "every DIE and location", "-", places,
              100 * places / all, found);
  std::printf("%-42s %8s %8.3f %7.0f %%\n", "search for a debug file", "-", search, 100 * search / all);
  return 0;
}
