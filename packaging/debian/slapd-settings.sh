# Read by the programs of ironbark-slapd: the settings of /etc/default/slapd, and what follows from them.
# shellcheck shell=sh disable=SC2034

SLAPD_CONF=
SLAPD_USER=openldap
SLAPD_GROUP=openldap
SLAPD_PIDFILE=
SLAPD_SERVICES='ldap:/// ldapi:///'
SLAPD_NO_START=
SLAPD_SENTINEL_FILE=/etc/ldap/noslapd
SLAPD_OPTIONS=
if [ -r /etc/default/slapd ]; then
  . /etc/default/slapd
fi
if [ -z "$SLAPD_CONF" ]; then
  if [ -e /etc/ldap/slapd.d ] || [ ! -e /etc/ldap/slapd.conf ]; then
    SLAPD_CONF=/etc/ldap/slapd.d
  else
    SLAPD_CONF=/etc/ldap/slapd.conf
  fi
fi

IRONBARK=/usr/bin/ironbark
# A copy of the configuration as it was at the last start.
CONFIGURATION_COPY=/var/lib/ironbark-slapd/configuration

say() {
  echo "ironbark-slapd: $*" >&2
}

# Is there a configuration?
is_configured() {
  [ -f "$SLAPD_CONF" ] || [ -f "$SLAPD_CONF/cn=config.ldif" ]
}

# -F for a configuration directory, -f for a file. $1: another configuration.
conf_option() {
  if [ -d "${1:-$SLAPD_CONF}" ]; then echo -F; else echo -f; fi
}

# Gives files to the user and the group of the server.
give_to_server() {
  for path in "$@"; do
    [ -e "$path" ] || continue
    [ -z "$SLAPD_USER" ] || chown --recursive -H "$SLAPD_USER" "$path"
    [ -z "$SLAPD_GROUP" ] || chgrp --recursive -H "$SLAPD_GROUP" "$path"
  done
}

# The pid file that the configuration names.
pid_file() {
  if [ -n "$SLAPD_PIDFILE" ]; then
    echo "$SLAPD_PIDFILE"
  elif [ -f "$SLAPD_CONF" ]; then
    sed -n 's/^pidfile[[:space:]]\{1,\}"\{0,1\}\([^"]*\)"\{0,1\}[[:space:]]*$/\1/p' "$SLAPD_CONF"
  elif [ -f "$SLAPD_CONF/cn=config.ldif" ]; then
    sed -n 's/^olcPidFile: *\(.*[^ ]\) *$/\1/p' "$SLAPD_CONF/cn=config.ldif"
  fi
}

# One line for each database of type mdb: its number, its directory and its naming contexts, separated by tabs.
databases() {
  databases_work=$(mktemp --directory)
  databases_folder=$SLAPD_CONF
  if [ -f "$SLAPD_CONF" ]; then
    databases_folder=$databases_work/slapd.d
    mkdir "$databases_folder"
    # The folder is filled also where a start would fail, say for a folder below /run that is made later.
    "$IRONBARK" slaptest -Q -n 0 -f "$SLAPD_CONF" -F "$databases_folder" >/dev/null 2>&1 ||
      [ -f "$databases_folder/cn=config.ldif" ] || databases_folder=
  fi
  if [ -n "$databases_folder" ] &&
    "$IRONBARK" slapcat -F "$databases_folder" -n 0 -o ldif-wrap=no >"$databases_work/config.ldif"; then
    databases_status=0
  else
    databases_status=1
  fi
  { sed -n '/^$/p; /^olcDatabase: /p; /^olcDbDirectory:/p; /^olcSuffix:/p' "$databases_work/config.ldif"; echo; } |
    list_databases
  rm -rf "$databases_work"
  return "$databases_status"
}

# From the lines of cn=config that matter to the lines of `databases`.
list_databases() {
  list_number= list_directory= list_suffixes=
  list_tab=$(printf '\t')
  while IFS= read -r list_line; do
    case "$list_line" in
      'olcDatabase: {'*'}mdb')
        list_number=${list_line#*\{}
        list_number=${list_number%%\}*}
        ;;
      olcDbDirectory:*) list_directory=$(ldif_value "${list_line#olcDbDirectory:}") ;;
      olcSuffix:*) list_suffixes=$list_suffixes$list_tab$(ldif_value "${list_line#olcSuffix:}") ;;
      '')
        if [ -n "$list_number" ] && [ -n "$list_directory" ]; then
          printf '%s\t%s%s\n' "$list_number" "$list_directory" "$list_suffixes"
        fi
        list_number= list_directory= list_suffixes=
        ;;
    esac
  done
}

# The value of an LDIF line after its first colon.
ldif_value() {
  case "$1" in
    :*) printf '%s' "${1#: }" | base64 --decode ;;
    *) printf '%s' "${1# }" ;;
  esac
}

# Starts, stops or reloads the service, whoever runs the services here.
service_do() {
  if [ -d /run/systemd/system ]; then
    deb-systemd-invoke "$1" slapd.service
  else
    invoke-rc.d ironbark-slapd "$1"
  fi
}
