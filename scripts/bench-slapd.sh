#!/usr/bin/env bash
# Ironbark beside Debian's slapd on one machine: offline load, file size, export, the workloads of `ironbark load`, memory, scale,
# replication.
#
# Both servers get the same LDIF and the same slapd.conf (same indexes, same durability), the log is off, and slapd gets the number of
# threads that suits it best. The server has one core, the load generator another; they take turns, several rounds. Writes the tables
# of docs/benchmarks.md and the results in data/benchmarks.jsonl, of which `make benchmarks` makes a page with plots. Environment:
#   PARTS         offline load session log latency idle memory scale replication: files of scripts/bench, each of which can run alone   (all)
#   ACCOUNTS      mail accounts, subscribers, people, records                               (100000)
#   ROUNDS        rounds, of which the median counts                                        (3)
#   SECONDS_EACH  seconds of each measurement                                               (5)
#   WORKLOADS     which of those in `words` of scripts/bench/load.sh                        (all)
#   GROUP_MEMBERS members of the largest group: 1000, 10000, 100000 or 1000000              (100000)
#   SEARCH_RATE   searches a second of the part latency                                     (5000)
#   MEMORY_SETS   data sets of the part memory                                              (ycsb zimbra)
#   SCALE         numbers of accounts of the part scale                                (1000 100000 1000000 5000000)
#   SCALE_SERVERS servers of the part scale; slapd loads 5,000,000 accounts in hours        (ironbark)
#   ENVFLAGS      durability of both; the data set telco-durable has none                   (writemap nometasync)
#   FIGURES       those of the part replication: lag rate delta consumers refresh missed wire accounts   (all)
#   SLOW_ROUNDS   rounds of its figures refresh and missed                                  (1)
#   LAG_RATES     writes a second beside which the lag is measured                          (500 1000)
#   REFRESH_SETS  data sets of its figure refresh                                           (telco zimbra)
#   MISSED        numbers of changes of its figure missed                                   (1000 100000)
#   REPLICATION_ENVFLAGS  durability of its servers                                         (none: every write is durable)
#   SLAPD_THREADS numbers of threads to try with slapd                                      (2 4 16)
#   BENCH_FOLDER  where data and databases lie, about 30 KB for each account, taken back at the end; on a disk   (./bench)
#   PORT          first of seven ports on 127.0.0.1                                         (3901)
set -euo pipefail
cd "$(dirname "$0")/.."

PARTS="${PARTS:-offline load session log latency idle memory scale replication}"
ACCOUNTS="${ACCOUNTS:-100000}" ROUNDS="${ROUNDS:-3}" SECONDS_EACH="${SECONDS_EACH:-5}"
GROUP_MEMBERS="${GROUP_MEMBERS:-100000}" ENVFLAGS="${ENVFLAGS-writemap nometasync}" SLAPD_THREADS="${SLAPD_THREADS:-2 4 16}"
FOLDER="${BENCH_FOLDER:-$PWD/bench}" PORT="${PORT:-3901}"
readonly IRONBARK="${CARGO_TARGET_DIR:-$PWD/target}/release/ironbark"

for file in servers report offline load session log latency idle memory scale replication; do
  # shellcheck source=/dev/null
  . "scripts/bench/$file.sh"
done
for part in $PARTS; do
  declare -F "part_$part" >/dev/null || { echo "$0: no part $part" >&2 && exit 1; }
done
trap cleanup EXIT
"${CARGO:-cargo}" build --release --package ironbark-admin --bin ironbark
for name in slapd ironbark; do create $name; done
for part in $PARTS; do "part_$part"; done
shopt -s nullglob
results=("$FOLDER"/results/{load,session,log,latency,memory,scale}/*.json)
[ "${#results[@]}" = 0 ] || { scripts/bench/results.py pack "${results[@]}" && scripts/bench/chart.py; }
