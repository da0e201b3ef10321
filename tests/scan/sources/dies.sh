#!/bin/sh
# Ends on a.c; of other units it says that there is nothing.
while read -r line; do
    case "$line" in
        *'a.c"'*) kill -9 $$ ;;
        *) echo '{"unit": "b.c", "includes": ["/dev/null"]}' ;;
    esac
done
