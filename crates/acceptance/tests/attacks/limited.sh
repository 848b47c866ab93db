#!/bin/sh
# A server with a limit of its address space, in KiB.
ulimit -v "$KIBIBYTES"
exec "$SERVER" slapd "$@"
