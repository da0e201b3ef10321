# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel tree in small: its makefile configures, prepares and says how it would compile its units."""

from __future__ import annotations

from pathlib import Path

from patch_cases import write_files

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
here := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
out := $(if $(O),$(O),.)
flags = -nostdinc -I$(here)include -I./include -include $(here)include/linux/kconfig.h -D__KERNEL__ -Wall
CC_i386 = -m32

.NOTPARALLEL:

all: fs/inode.o fs/holder.o

defconfig allnoconfig:
\techo '# Linux/$(ARCH) 6.12.0 Kernel Configuration' > $(out)/.config
\techo 'CONFIG_SLUB=y' >> $(out)/.config

olddefconfig:
\tif grep -q 'SMP is not set' $(out)/.config; then sed -i '/^CONFIG_SMP=y/d' $(out)/.config; fi

prepare0:
\tmkdir -p $(out)/include/generated $(out)/arch/x86/kernel
\tsed -n 's/^CONFIG_\\(.*\\)=y/#define CONFIG_\\1 1/p' $(out)/.config > $(out)/include/generated/autoconf.h
\techo 'cmd_arch/x86/kernel/asm-offsets.s := $(CC) $(CC_$(ARCH)) $(flags) -S -o a.s a.c' \\
\t    > $(out)/arch/x86/kernel/.asm-offsets.s.cmd

%.o:
\tset -e; trap 'rm $@' INT; $(CC) $(CC_$(ARCH)) $(flags) -DUNIT -c -o $@ $(here)$*.c; scripts/basic/fixdep .d '$(CC)'
"""
HEADER = """\
#ifndef LINUX_S_H
#define LINUX_S_H
struct lock {
#ifdef CONFIG_PROVE_LOCKING
\tlong map[4];
#endif
\tint word;
};
struct s {
\tlong hot;
\tstruct lock lock;
\tchar name[60];
#ifdef CONFIG_SMP
\tint cpu;
#endif
};
#endif
"""
PATCHED = HEADER.replace("\tstruct lock lock;\n", "").replace("name[60];\n", "name[60];\n\tstruct lock lock;\n")
SYMBOLS = ("64BIT", "SMP", "SLUB")
FILES = {
    "Kbuild": "",
    "Makefile": MAKEFILE,
    "scripts/Makefile.build": "",
    "arch/x86/Makefile": "",
    ".config": "# Linux/x86 6.12.0 Kernel Configuration\n" + "".join(f"CONFIG_{one}=y\n" for one in SYMBOLS),
    "include/linux/kconfig.h": "#include <generated/autoconf.h>\n",
    "include/linux/s.h": HEADER,
    "fs/inode.c": "#include <linux/s.h>\n#ifndef UNIT\n#error flags\n#endif\nlong f(struct s *s) { return s->hot; }\n",
    "fs/holder.h": "#include <linux/s.h>\nstruct holder {\n\tstruct s one;\n\tint count;\n};\n",
    "fs/holder.c": '#include "holder.h"\nstruct inside {\n\tstruct holder deep;\n};\nstruct inside inside;\n',
    "fs/other.c": "#include <linux/s.h>\nstruct unbuilt {\n\tstruct s one;\n};\n",
}


def small_kernel(root: Path) -> Path:
    """The tree, written below ``root``."""
    return write_files(root, FILES)
