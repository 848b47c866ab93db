#!/bin/sh
# Prints Cargo's target directory.
cd "$(dirname "$0")/../.." && cargo metadata --no-deps --format-version 1 --locked |
  sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
