// SPDX-License-Identifier: GPL-2.0-or-later
#include "command_reader.h"

#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"

namespace linesmith {
namespace {

std::vector<std::string> Words(llvm::StringRef command) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char*, 64> words;
  llvm::cl::TokenizeGNUCommandLine(command, saver, words);
  return {words.begin(), words.end()};
}

llvm::Error Malformed(llvm::StringRef what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "a command is malformed: %s",
                                 what.str().c_str());
}

bool ReadArguments(const llvm::json::Object& object, std::vector<std::string>& arguments) {
  if (const llvm::json::Array* list = object.getArray("arguments")) {
    for (const llvm::json::Value& value : *list) {
      const auto word = value.getAsString();
      if (!word) return false;
      arguments.push_back(word->str());
    }
    return true;
  }
  const auto command = object.getString("command");
  if (command) arguments = Words(*command);
  return command.has_value();
}

}  // namespace

llvm::Expected<CompileCommand> ReadCommand(llvm::StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) return value.takeError();
  const llvm::json::Object* object = value->getAsObject();
  if (object == nullptr) return Malformed("not an object");
  const auto directory = object->getString("directory");
  const auto file = object->getString("file");
  if (!directory || !file) return Malformed("no \"directory\" or no \"file\"");
  CompileCommand command{directory->str(), file->str(), {}};
  if (!ReadArguments(*object, command.arguments)) return Malformed("no \"arguments\" and no \"command\"");
  return command;
}

std::string PathOf(const CompileCommand& command) {
  llvm::SmallString<256> path(command.file);
  llvm::sys::fs::make_absolute(command.directory, path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

}  // namespace linesmith
