# An sssd of its own: in namespaces in which its fixed places are empty, and in which all processes end with this script.
#
# Argument: a directory with sssd.conf. stdin has commands, one on each line; stdout gets their exit status and what they say.
set -euo pipefail

for place in /etc/pam.d /etc/sssd /run /var/lib/sss /var/log/sssd; do
  mount -t tmpfs tmpfs "$place"
done
mkdir -p /etc/sssd/conf.d /var/lib/sss/{db,deskprofile,gpo_cache,mc,pipes/private,pubconf/krb5.include.d,secrets}
chmod 700 /var/lib/sss/{db,pipes/private,secrets}
install -m 600 "$1/sssd.conf" /etc/sssd/sssd.conf
printf '%s required pam_sss.so\n' auth account password >/etc/pam.d/test
printf '%s: files sss\n' passwd group initgroups >"$1/nsswitch.conf"
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf

# Returns when it answers.
/usr/sbin/sssd -D --logger=files

while IFS= read -r question; do
  status=0
  answer=$(eval "$question" 2>&1) || status=$?
  printf '%s %s\n' "$status" "${answer//$'\n'/|}"
done
