// SPDX-License-Identifier: GPL-2.0-or-later
// linesmith-source-scan: what C sources show of records beside their layout, as JSON lines.
//
//   linesmith-source-scan --record NAME [--record NAME ...] [--no-uses] < COMMANDS
//
// COMMANDS has an entry of a compilation database on each line. Each gives one line of JSON, in order: where
// the records stand in the sources, what depends on the order of their members, who uses them, and which
// files were read. A unit that cannot be parsed says so in its line. The exit status is 0 unless the
// arguments or a command are malformed.
#include <cstdio>
#include <iostream>

#include "command_reader.h"
#include "facts_writer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "unit_parser.h"

namespace {

int ScanUnits(linesmith::UnitParser parser) {
  std::string line;
  while (std::getline(std::cin, line)) {
    llvm::Expected<linesmith::CompileCommand> command = linesmith::ReadCommand(line);
    if (!command) {
      llvm::errs() << "linesmith-source-scan: " << llvm::toString(command.takeError()) << '\n';
      return 2;
    }
    linesmith::WriteFacts(parser.Parse(*command), llvm::outs());
  }
  return 0;
}

}  // namespace

int main(int argc, const char** argv) {
  llvm::cl::OptionCategory category("linesmith-source-scan");
  llvm::cl::list<std::string> records("record", llvm::cl::desc("tag or typedef of a record"),
                                      llvm::cl::OneOrMore, llvm::cl::cat(category));
  llvm::cl::opt<bool> no_uses("no-uses", llvm::cl::desc("leave out uses of members"),
                              llvm::cl::cat(category));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, "what C sources show of records beside their layout\n");
  llvm::CrashRecoveryContext::Enable();
  linesmith::ScanOptions options;
  for (const std::string& record : records) options.records.insert(record);
  options.uses = !no_uses;
  return ScanUnits(linesmith::UnitParser(std::move(options)));
}
