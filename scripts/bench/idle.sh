# Part idle: resident memory of a server that nobody uses, by the number of files that it may open; sourced by bench-slapd.sh.

part_idle() {
  local files most name
  # A million needs a hard limit that allows it, or the right to raise it.
  most=$(sh -c 'ulimit -n 1048576 2>/dev/null; ulimit -Hn')
  for files in 1024 "$most"; do
    for name in slapd ironbark; do
      # shellcheck disable=SC2016
      start $name sh -c 'ulimit -n "$0" && exec "$@"' "$files"
      awk '$1 == "VmRSS:" { print $2 }' "/proc/${PIDS[$name]}/status" >"$FOLDER/$name/idle-$files"
      stop $name
    done
  done
  {
    printf '| resident KB, idle | slapd | ironbark | ratio |\n|---|---|---|---|\n'
    for files in 1024 "$most"; do
      row "\`ulimit -n\` $files" "$(cat "$FOLDER/slapd/idle-$files")" "$(cat "$FOLDER/ironbark/idle-$files")"
    done
  } | replace idle
}
