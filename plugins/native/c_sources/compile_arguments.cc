// SPDX-License-Identifier: GPL-2.0-or-later
#include "compile_arguments.h"

#include "clang/Driver/Options.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/Path.h"

namespace linesmith {
namespace {

namespace options = clang::driver::options;

bool ChangesTypesOrMacros(unsigned option) {
  switch (option) {
    case options::OPT_std_EQ:
    case options::OPT_ansi:
    case options::OPT_x:
    case options::OPT_m32:
    case options::OPT_m64:
    case options::OPT_march_EQ:
    case options::OPT_target:
    case options::OPT_target_legacy_spelling:
    case options::OPT_nostdinc:
    case options::OPT_nostdincxx:
    case options::OPT_pthread:
    case options::OPT_ffreestanding:
    case options::OPT_fgnu89_inline:
    case options::OPT_fms_extensions:
    case options::OPT_fno_builtin:
    case options::OPT_fopenmp:
    case options::OPT_fpack_struct_EQ:
    case options::OPT_fshort_enums:
    case options::OPT_fshort_wchar:
    case options::OPT_fsigned_char:
    case options::OPT_funsigned_char:
      return true;
    default:
      return false;
  }
}

// -Wp,-MMD,FILE writes a file as -MMD does.
bool ListsDependencies(const llvm::opt::Arg& argument) {
  return argument.getOption().matches(options::OPT_Wp_COMMA) &&
         llvm::any_of(argument.getValues(), [](llvm::StringRef value) { return value.starts_with("-M"); });
}

bool DecidesParsing(const llvm::opt::Arg& argument) {
  const llvm::opt::Option& option = argument.getOption();
  // -M and its kin write files that nobody asked for here.
  if (option.matches(options::OPT_M_Group) || ListsDependencies(argument)) return false;
  return option.matches(options::OPT_Preprocessor_Group) || option.matches(options::OPT_O_Group) ||
         option.matches(options::OPT_m_x86_Features_Group) || ChangesTypesOrMacros(option.getID());
}

// The machine that a cross compiler is named after: "aarch64-linux-gnu" of aarch64-linux-gnu-gcc-12. It may
// come behind a cache of compilations.
std::string TargetOf(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    if (llvm::StringRef(word).starts_with("-")) break;
    llvm::StringRef name = llvm::sys::path::filename(word);
    name = name.rtrim("0123456789.").rtrim('-');
    for (const llvm::StringRef compiler : {"-gcc", "-g++", "-cc", "-clang"}) {
      if (name.consume_back(compiler)) return name.str();
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> ParsingArguments(const std::vector<std::string>& command, llvm::StringRef file) {
  std::vector<const char*> words;
  for (std::size_t i = 1; i < command.size(); ++i) words.push_back(command[i].c_str());
  unsigned missing_index = 0;
  unsigned missing_count = 0;
  const llvm::opt::InputArgList parsed = clang::driver::getDriverOptTable().ParseArgs(
      words, missing_index, missing_count, llvm::opt::Visibility(options::ClangOption));
  std::vector<std::string> kept = {"clang"};
  const std::string target = TargetOf(command);
  if (!target.empty()) kept.push_back("--target=" + target);
  for (const llvm::opt::Arg* argument : parsed) {
    if (!DecidesParsing(*argument)) continue;
    llvm::opt::ArgStringList rendered;
    argument->render(parsed, rendered);
    kept.insert(kept.end(), rendered.begin(), rendered.end());
  }
#ifdef LINESMITH_CLANG_RESOURCES
  kept.push_back("-resource-dir=" LINESMITH_CLANG_RESOURCES);
#endif
  kept.insert(kept.end(), {"-fsyntax-only", "-w", "-ferror-limit=0", "--", file.str()});
  return kept;
}

}  // namespace linesmith
