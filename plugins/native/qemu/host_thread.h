// SPDX-License-Identifier: GPL-2.0-or-later
// What the host's kernel says of a thread of this process.
#ifndef LINESMITH_HOST_THREAD_H
#define LINESMITH_HOST_THREAD_H

#include <stdbool.h>

/** Number of the calling thread. */
int host_thread_number(void);

/** True where a thread sleeps, or is gone; false where it runs or waits for a processor or a disk, as for a
 * page of its program. Source: proc(5), /proc/pid/stat. */
bool host_thread_sleeps(int number);

#endif
