#!/bin/sh
seconds=$1 done=0
shift
end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt "$end" ]; do "$@" || exit 2; done=$((done + 1)); done
echo "COUNT|$done|60|lpm" >&2
