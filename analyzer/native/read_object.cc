// SPDX-License-Identifier: GPL-2.0-or-later
// linesmith-read-object OBJECT: the records of one object whose text nobody has reviewed, for a parent that
// trusts nothing of it. Opens no file but OBJECT, starts no thread, and runs under whatever limits the parent
// sets.
//
// Writes one JSON document a record, each on a line of its own, and ends with 0; or one line
// {"error": KIND, "message": SENTENCE}, and ends with 2.
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "debug_loader.h"
#include "dwarf_reader.h"
#include "error.h"
#include "json_writer.h"

namespace {

constexpr int kRefused = 2;
constexpr int kNotWritten = 1;
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

int Refuse(const linesmith::Error& error) {
  const std::string line = linesmith::ErrorJson(error) + "\n";
  std::fputs(line.c_str(), stdout);
  return kRefused;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("Usage: linesmith-read-object OBJECT\n", stderr);
    return kNotWritten;
  }
  const std::string path = arguments[1];
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  try {
    const auto info = linesmith::LoadDebugInfo(path, {}, linesmith::ExternalFiles::kRefuse);
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
