// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: any blocks of a trace, framed, packed and with their checksums as the reader wants them. What it
// reads is replayed through a small simulation; anything but events, an end or a problem is a finding.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "trace.h"
#include "trace_format.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

void AppendWord(Bytes& file, std::uint32_t word) {
  for (int byte = 0; byte < 4; ++byte) file.push_back(static_cast<std::uint8_t>(word >> 8 * byte));
}

void AppendBlock(Bytes& file, std::uint32_t type, std::uint32_t entries, const std::uint8_t* data,
                 std::size_t size) {
  Bytes packed(compressBound(size));
  uLongf packed_size = packed.size();
  compress2(packed.data(), &packed_size, data, size, Z_BEST_SPEED);
  AppendWord(file, type);
  AppendWord(file, static_cast<std::uint32_t>(size));
  AppendWord(file, static_cast<std::uint32_t>(packed_size));
  AppendWord(file, static_cast<std::uint32_t>(crc32(0, packed.data(), static_cast<uInt>(packed_size))));
  AppendWord(file, entries);
  file.insert(file.end(), packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(packed_size));
}

// Each block of the input: type, entries, bytes, then the bytes themselves.
Bytes Frame(const std::uint8_t* data, std::size_t size) {
  Bytes file(TRACE_MAGIC, &TRACE_MAGIC[TRACE_MAGIC_BYTES]);
  while (size >= 3) {
    const std::size_t block = std::min<std::size_t>(data[2], size - 3);
    AppendBlock(file, data[0], data[1], data + 3, block);
    data += 3 + block;
    size -= 3 + block;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes file = Frame(data, size);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in{fmemopen(file.data(), file.size(), "r"),
                                                           std::fclose};
  trace_reader* reader = trace_reader_create(in.get());
  trace_event event;
  while (trace_next(reader, &event) == TRACE_EVENT) {
    if (event.cpu >= trace_reader_settings(reader)->cpus || event.width == 0) std::abort();
  }
  trace_reader_destroy(reader);
  return 0;
}
