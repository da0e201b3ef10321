// SPDX-License-Identifier: GPL-2.0-or-later
// linesmith-read-object OBJECT [COMPILER ARGUMENT...]: the records of one object whose text nobody has
// reviewed, for a parent that trusts nothing of it. With a command it runs that first, which makes OBJECT; so
// one confinement and one start of a child serve both. Opens no file but OBJECT, starts no thread, and runs
// under whatever limits the parent sets.
//
// Writes one JSON document a record, each on a line of its own, and ends with 0; or one line
// {"error": KIND, "message": SENTENCE}, and ends with 2; or ends with 3 where the command failed. What the
// command writes goes to standard error.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "dwarf/debug_loader.h"
#include "json_writer.h"
#include "layouts/dwarf_reader.h"

namespace {

constexpr int kRefused = 2;
constexpr int kNotWritten = 1;
constexpr int kNotCompiled = 3;
constexpr std::size_t kBuffered = std::size_t{1} << 20;

bool WriteRecords(const std::vector<linesmith::Record>& records) {
  std::string text;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    text += linesmith::LayoutJson(id, records[id]);
    text += '\n';
    if (text.size() < kBuffered) continue;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return false;
    text.clear();
  }
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

// Whether the command (ended by a null pointer) ran and ended with 0. It ends when this process does.
bool Ran(char** command) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) execv(command[0], command);
    _exit(kNotCompiled);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int Refuse(const linesmith::Error& error) {
  const std::string line = linesmith::ErrorJson(error) + "\n";
  std::fputs(line.c_str(), stdout);
  return kRefused;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("Usage: linesmith-read-object OBJECT [COMPILER ARGUMENT...]\n", stderr);
    return kNotWritten;
  }
  if (count > 2 && !Ran(arguments + 2)) return kNotCompiled;
  const std::string path = arguments[1];
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  try {
    const auto info = linesmith::LoadSingleFile(path);
    return WriteRecords(linesmith::ReadRecords(*info, 1, {})) ? 0 : kNotWritten;
  } catch (const linesmith::Error& error) {
    return Refuse(error);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return Refuse({"DebugInfoDamaged", path +
                                         ": reading its debug information takes more memory than is allowed; "
                                         "it is damaged, or made to exhaust memory"});
}
