// SPDX-License-Identifier: GPL-2.0-or-later
// Records out of BTF, the kernel's compact type information: the second reader behind the seam of DWARF's.
#pragma once

#include <string>
#include <vector>

#include "btf/btf_types.h"
#include "elf/elf_file.h"
#include "records/record.h"

namespace linesmith {

// Whether a file that begins with `head` is a raw BTF blob, of either byte order.
bool IsRawBtf(Bytes head);

// Records of the `.BTF` section of an ELF file, or of a raw BTF file such as /sys/kernel/btf/vmlinux. A
// kernel module's BTF is split and needs `base_path` (the vmlinux or its BTF; empty: none), unless the module
// carries its own `.BTF.base`, which then is the base. Throws Error: ElfError, DebugInfoMissing,
// DebugInfoDamaged.
std::vector<Record> ReadBtf(const std::string& path, const std::string& base_path);

// The same for a blob in memory that stands alone; `place` stands for the file in messages.
std::vector<Record> ReadBtfBlob(const std::string& place, Bytes blob);

// The records of a BTF blob in the form that both readers share.

// Every struct and union of the blob itself, in its order, and behind them those of its base that they hold
// by value. Throws Error("DebugInfoDamaged") when a type breaks a rule of C or of BTF.
std::vector<Record> RecordsOf(const BtfTypes& types);

}  // namespace linesmith
