# Part offline: load, export and file size, without a server; sourced by bench-slapd.sh.

# modified NAME: a copy of the database zimbra, after each entry was modified once.
modified() {
  local folder="$FOLDER/$1"
  sed 's|/db-zimbra$|/db-modified|' "$folder/slapd.conf" >"$folder/modified.conf"
  cp -r --sparse=always "$folder/db-zimbra" "$folder/db-modified"
  timed "$folder/modify" "$(tool "$1" slapmodify)" -q -f "$folder/modified.conf" -b o=zimbra -l "$FOLDER/changes.ldif" >"$folder.log" 2>&1
  kilobytes "$folder/db-modified/data.mdb" >"$folder/size-modified"
  rm -rf "$folder/db-modified"
}

part_offline() {
  local s="$FOLDER/slapd" i="$FOLDER/ironbark" name set
  prepare zimbra telco
  "$IRONBARK" load changes --data zimbra --suffix o=zimbra --entries "$ACCOUNTS" --count "$ACCOUNTS" --order sequential \
    -o "$FOLDER/changes.ldif"
  for name in slapd ironbark; do
    timed "$FOLDER/$name/export" "$(tool $name slapcat)" -f "$FOLDER/$name/slapd.conf" -b o=zimbra -l /dev/null
    modified $name
  done
  {
    printf '%s bytes of LDIF\n\n| | slapd | ironbark | ratio |\n|---|---|---|---|\n' "$(cat "$FOLDER/octets-zimbra")"
    row '`slapadd -q`, seconds' "$(field "$s/load-zimbra" 1)" "$(field "$i/load-zimbra" 1)"
    row '`slapadd -q`, processor seconds' "$(awk '{ print $2 + $3 }' "$s/load-zimbra")" "$(awk '{ print $2 + $3 }' "$i/load-zimbra")"
    row '`slapadd -q`, peak KB (slapd: and its map)' "$(field "$s/load-zimbra" 4)" "$(field "$i/load-zimbra" 4)"
    row '`slapcat`, seconds' "$(field "$s/export" 1)" "$(field "$i/export" 1)"
    row '`slapmodify -q` of each entry, seconds' "$(field "$s/modify" 1)" "$(field "$i/modify" 1)"
    row '`data.mdb`, KB on disk' "$(cat "$s/size-zimbra")" "$(cat "$i/size-zimbra")"
    row '`data.mdb` after that `slapmodify`, KB' "$(cat "$s/size-modified")" "$(cat "$i/size-modified")"
    row '`data.mdb` of the set telco, KB' "$(cat "$s/size-telco")" "$(cat "$i/size-telco")"
  } | replace offline
}
