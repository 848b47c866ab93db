# Part session: whole sessions (connect, StartTLS or ldaps or neither, bind as a random person, search, unbind) by 8 clients, the
# server's processor time for each; sourced by bench-slapd.sh.

# Rows of the table, as `ironbark load session` names them.
SESSIONS=('session' 'session, StartTLS' 'session, ldaps' 'session, ldaps, resumed')

# certify: an authority of its own and a certificate for 127.0.0.1, of the kind that most sites have (RSA, 2048 bits).
certify() {
  local tls="$FOLDER/tls"
  rm -rf "$tls"
  mkdir -p "$tls"
  openssl req -x509 -newkey rsa:2048 -nodes -days 7 -subj /CN=bench-authority -keyout "$tls/ca.key" -out "$tls/ca.crt" 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$tls/server.key" -out "$tls/server.csr" 2>/dev/null
  openssl x509 -req -in "$tls/server.csr" -CA "$tls/ca.crt" -CAkey "$tls/ca.key" -CAcreateserial -days 7 -out "$tls/server.crt" \
    -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1') 2>/dev/null
}

# measure_session NAME ROW: sessions a second, processor us and p99 in NAME/session-ROW.
measure_session() {
  local IDENTITY=anonymous AT="${URL[$1]}" arguments=(session -c 8) file
  case $2 in *StartTLS*) arguments+=(-Z) ;; *ldaps*) AT="${LDAPS[$1]}" ;; esac
  case $2 in *resumed) arguments+=(--resume) ;; esac
  case $2 in *TLS* | *ldaps*) arguments+=(--ca-file "$FOLDER/tls/ca.crt") ;; esac
  measure session "$1" zimbra "${arguments[@]}"
  file="$FOLDER/$1/session-${2//[, ]/}"
  echo "$(figure rate "$RESULT") $(figure cpu_us_per_operation "$RESULT") $(p99_ms "$RESULT")" >>"$file"
}

# session NAME ROW COLUMN: the median.
session() { field "$FOLDER/$1/session-${2//[, ]/}" "$3" | median; }

part_session() {
  local round name kind
  rm -rf "$FOLDER/results/session" "$FOLDER"/*/session-*
  prepare zimbra
  choose_threads
  certify
  for name in slapd ironbark; do
    configure $name
    start $name
  done
  for ((round = 0; round < ROUNDS; round++)); do
    for kind in "${SESSIONS[@]}"; do
      for name in slapd ironbark; do measure_session $name "$kind"; done
    done
  done
  stop slapd
  stop ironbark
  rm -rf "$FOLDER/tls"
  for name in slapd ironbark; do configure $name; done
  {
    printf '| sessions by 8 clients | slapd, CPU us each | ironbark, CPU us each | ratio |\n|---|---|---|---|\n'
    for kind in "${SESSIONS[@]}"; do row "$kind" "$(session slapd "$kind" 2)" "$(session ironbark "$kind" 2)"; done
    printf '\n| sessions by 8 clients | slapd, a second | ironbark, a second | ratio |\n|---|---|---|---|\n'
    for kind in "${SESSIONS[@]}"; do row "$kind" "$(session slapd "$kind" 1)" "$(session ironbark "$kind" 1)" 'b / a'; done
    printf '\n| sessions by 8 clients | slapd, p99 ms | ironbark, p99 ms | ratio |\n|---|---|---|---|\n'
    for kind in "${SESSIONS[@]}"; do row "$kind" "$(session slapd "$kind" 3)" "$(session ironbark "$kind" 3)"; done
  } | replace session
}
