#!/bin/sh
# Prints the sources of Debian that this machine has, for mmdebstrap.
cat /etc/apt/sources.list.d/debian.sources 2>/dev/null || grep -h '^deb .*debian' /etc/apt/sources.list
