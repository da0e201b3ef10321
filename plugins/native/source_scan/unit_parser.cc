// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit_parser.h"

#include <chrono>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Tooling/Tooling.h"
#include "compile_arguments.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "unit_walk.h"

namespace linesmith {
namespace {

// Deeply nested expressions are walked by recursion.
constexpr unsigned kStackBytes = 256U << 20U;

class FirstComplaint : public clang::DiagnosticConsumer {
 public:
  explicit FirstComplaint(UnitFacts& facts) : facts_(facts) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    if (level < clang::DiagnosticsEngine::Error) return;
    if (facts_.errors++ == 0) facts_.complaint = TextOf(diagnostic);
  }

 private:
  static std::string TextOf(const clang::Diagnostic& diagnostic) {
    llvm::SmallString<128> message;
    diagnostic.FormatDiagnostic(message);
    std::string text;
    if (diagnostic.hasSourceManager() && diagnostic.getLocation().isValid()) {
      const clang::SourceManager& sources = diagnostic.getSourceManager();
      const clang::PresumedLoc place =
          sources.getPresumedLoc(sources.getExpansionLoc(diagnostic.getLocation()));
      if (place.isValid())
        text = std::string(place.getFilename()) + ":" + std::to_string(place.getLine()) + ": ";
    }
    return text + std::string(message);
  }

  UnitFacts& facts_;
};

// Skips what is known to show nothing.
class Consumer : public clang::ASTConsumer {
 public:
  Consumer(const clang::CompilerInstance& compiler, const ScanOptions& options, BarrenBodies& barren,
           UnitFacts& facts)
      : compiler_(compiler), options_(options), barren_(barren), facts_(facts) {}

  bool shouldSkipFunctionBody(clang::Decl* function) override {
    return barren_.Contains(*function, compiler_.getSourceManager());
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
    facts_.fatal = context.getDiagnostics().hasFatalErrorOccurred();
    WalkUnit(context, options_, barren_, facts_);
  }

 private:
  const clang::CompilerInstance& compiler_;
  const ScanOptions& options_;
  BarrenBodies& barren_;
  UnitFacts& facts_;
};

class Action : public clang::ASTFrontendAction {
 public:
  Action(const ScanOptions& options, BarrenBodies& barren, UnitFacts& facts)
      : options_(options), barren_(barren), facts_(facts) {}

 protected:
  // Parsing writes nothing, whatever the arguments ask for.
  bool BeginInvocation(clang::CompilerInstance& compiler) override {
    compiler.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    compiler.getFrontendOpts().SkipFunctionBodies = true;  // those that the consumer says
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<Consumer>(compiler, options_, barren_, facts_);
  }

 private:
  const ScanOptions& options_;
  BarrenBodies& barren_;
  UnitFacts& facts_;
};

}  // namespace

clang::FileManager& UnitParser::FilesOf(const std::string& directory) {
  if (files_ == nullptr || directory != directory_) {
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> system(llvm::vfs::createPhysicalFileSystem().release());
    system->setCurrentWorkingDirectory(directory);
    files_ = new clang::FileManager(clang::FileSystemOptions(), std::move(system));
    directory_ = directory;
  }
  return *files_;
}

UnitFacts UnitParser::Parse(const CompileCommand& command) {
  const auto started = std::chrono::steady_clock::now();
  UnitFacts facts;
  facts.unit = PathOf(command);
  facts.fatal = true;  // until the end of the unit is reached
  FirstComplaint complaint(facts);
  clang::tooling::ToolInvocation invocation(ParsingArguments(command.arguments, facts.unit),
                                            std::make_unique<Action>(options_, barren_, facts),
                                            &FilesOf(command.directory));
  invocation.setDiagnosticConsumer(&complaint);
  bool done = false;
  llvm::CrashRecoveryContext guard;
  if (!guard.RunSafelyOnThread([&] { done = invocation.run(); }, kStackBytes)) {
    facts.complaint = "the parser crashed";
    ++facts.errors;
    facts.fatal = true;
    files_ = nullptr;
  } else if (!done && facts.errors == 0) {
    facts.complaint = "the compiler's arguments cannot be understood";
    ++facts.errors;
    facts.fatal = true;
  }
  facts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return facts;
}

}  // namespace linesmith
