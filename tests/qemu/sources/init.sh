#!/bin/busybox sh
/bin/busybox mkdir -p /dev
/bin/busybox mount -t devtmpfs dev /dev
/bin/start
for cpu in 1 2; do
  (for i in 1 2 3 4 5; do /bin/busybox sh -c 'exit 0'; done) &
done
wait
/bin/stop
/bin/busybox poweroff -f
