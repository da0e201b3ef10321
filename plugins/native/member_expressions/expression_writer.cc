// SPDX-License-Identifier: GPL-2.0-or-later
#include "expression_writer.h"

#include <string>

#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

namespace linesmith {
namespace {

const char* WordFor(Use use) {
  switch (use) {
    case Use::kRead:
      return "read";
    case Use::kWrite:
      return "write";
    case Use::kUpdate:
      return "update";
    case Use::kAddress:
      return "address";
    case Use::kOffset:
      return "offset";
  }
  return "";
}

const char* WordFor(Place place) {
  switch (place) {
    case Place::kSource:
      return "source";
    case Place::kExpansion:
      return "expansion";
    case Place::kSpelling:
      return "spelling";
  }
  return "";
}

void WritePlace(llvm::json::OStream& json, const SourceLine& line) {
  json.attribute("file", llvm::json::fixUTF8(line.file));
  json.attribute("line", line.line);
  json.attributeArray("statement", [&] {
    json.value(line.first);
    json.value(line.last);
  });
  json.attribute("place", WordFor(line.place));
}

void WriteSteps(llvm::json::OStream& json, const std::vector<Step>& steps) {
  json.attributeArray("steps", [&] {
    for (const Step& step : steps) {
      json.array([&] {
        json.value(llvm::json::fixUTF8(step.record));
        json.value(llvm::json::fixUTF8(step.member));
      });
    }
  });
}

}  // namespace

void ExpressionWriter::Write(const SourceLine& line, const MemberExpression& expression) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    WritePlace(json, line);
    WriteSteps(json, expression.steps);
    if (!expression.variable.empty()) json.attribute("variable", llvm::json::fixUTF8(expression.variable));
    json.attribute("type", llvm::json::fixUTF8(expression.type));
    json.attribute("bytes", static_cast<std::int64_t>(expression.bytes));
    json.attribute("use", WordFor(expression.use));
    if (expression.whole) json.attribute("whole", true);
  });
  if (written_.insert(llvm::xxh3_64bits(text)).second) output_ << text << '\n';
}

void ExpressionWriter::FinishSource(llvm::StringRef source, unsigned errors, bool fatal) {
  llvm::json::OStream json(output_);
  json.object([&] {
    json.attribute("source", llvm::json::fixUTF8(source));
    json.attribute("errors", errors);
    json.attribute("fatal", fatal);
  });
  output_ << '\n';
  output_.flush();
}

}  // namespace linesmith
