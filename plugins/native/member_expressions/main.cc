// SPDX-License-Identifier: GPL-2.0-or-later
// member_expressions: lists every place that C code reaches through a type, by source line, as JSON lines.
//
//   member_expressions -p DIRECTORY SOURCE...      with the compile_commands.json of DIRECTORY
//   member_expressions SOURCE... -- -Iinclude ...  with these compiler arguments
//
// After the expressions of each source comes a line {"source": ..., "errors": ..., "fatal": ...}; sources
// that cannot be parsed cost themselves only. The exit status is 0 unless the arguments are wrong.
#include <memory>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Tooling/CommonOptionsParser.h"
#include "clang/Tooling/Tooling.h"
#include "compile_arguments.h"
#include "expression_walk.h"
#include "expression_writer.h"

namespace linesmith {
namespace {

class Consumer : public clang::ASTConsumer {
 public:
  explicit Consumer(ExpressionWriter& writer) : writer_(writer) {}

  void HandleTranslationUnit(clang::ASTContext& context) override {
    WalkFunctions(context, [this](const SourceLine& line, const MemberExpression& expression) {
      writer_.Write(line, expression);
    });
  }

 private:
  ExpressionWriter& writer_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(ExpressionWriter& writer) : writer_(writer) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&, llvm::StringRef) override {
    return std::make_unique<Consumer>(writer_);
  }

  void EndSourceFileAction() override {
    const clang::DiagnosticsEngine& diagnostics = getCompilerInstance().getDiagnostics();
    llvm::SmallString<256> source(getCurrentFile());
    getCompilerInstance().getFileManager().makeAbsolutePath(source);
    writer_.FinishSource(source, diagnostics.getNumErrors(), diagnostics.hasFatalErrorOccurred());
  }

 private:
  ExpressionWriter& writer_;
};

class Factory : public clang::tooling::FrontendActionFactory {
 public:
  explicit Factory(ExpressionWriter& writer) : writer_(writer) {}

  std::unique_ptr<clang::FrontendAction> create() override { return std::make_unique<Action>(writer_); }

 private:
  ExpressionWriter& writer_;
};

int ListExpressions(clang::tooling::CommonOptionsParser& options) {
  clang::tooling::ClangTool tool(options.getCompilations(), options.getSourcePathList());
  tool.clearArgumentsAdjusters();
  tool.appendArgumentsAdjuster(ParsingArguments);
  tool.setPrintErrorMessage(false);
  ExpressionWriter writer(llvm::outs());
  Factory factory(writer);
  tool.run(&factory);
  return 0;
}

}  // namespace
}  // namespace linesmith

int main(int argc, const char** argv) {
  llvm::cl::OptionCategory category("member_expressions");
  auto options = clang::tooling::CommonOptionsParser::create(argc, argv, category);
  if (!options) {
    llvm::errs() << "member_expressions: " << llvm::toString(options.takeError()) << '\n';
    return 2;
  }
  return linesmith::ListExpressions(*options);
}
