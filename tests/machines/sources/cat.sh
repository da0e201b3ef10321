#!/bin/sh
[ "$1" != /proc/sys/kernel/random/boot_id ] || exec /bin/cat {folder}/boot_id
exec /bin/cat "$@"
