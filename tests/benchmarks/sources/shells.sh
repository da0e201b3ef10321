#!/bin/sh
i=0
while [ $i -lt "$1" ]; do sh "$UB_BINDIR/tst.sh" & i=$((i + 1)); done
wait
