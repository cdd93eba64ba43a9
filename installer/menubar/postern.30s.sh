#!/bin/sh
# <xbar.title>Postern</xbar.title>
# <xbar.desc>State of the Postern gateway to Messages, and what to do with it.</xbar.desc>
# <xbar.dependencies>postern</xbar.dependencies>
# <swiftbar.hideAbout>true</swiftbar.hideAbout>
# <swiftbar.hideRunInTerminal>true</swiftbar.hideRunInTerminal>
# <swiftbar.hideDisablePlugin>true</swiftbar.hideDisablePlugin>
#
# For SwiftBar and xbar. The service renders the text above the items. Requests use only its Unix socket, because any
# account could have taken the port. The API key goes from Postern to curl by stdin, and to the clipboard by pbcopy's
# stdin: no process list shows it.
set -u

label=local.postern.agent
support="$HOME/Library/Application Support/Postern"
config="$support/config.toml"
socket="$support/postern.sock"
plist="$HOME/Library/LaunchAgents/$label.plist"
target="gui/$(id -u)/$label"

# Prints the value of a key in a section of config.toml as it is written there, with its quotes.
setting() {
  [ -r "$config" ] || return 0
  LC_ALL=C awk -v section="$1" -v key="$2" '
    NR == 1 { sub(/^\357\273\277/, "") }
    { sub(/\r$/, "") }
    /^[ \t]*\[/ { line = $0; gsub(/[ \t]|#.*/, "", line); inside = (line == "[" section "]"); next }
    inside && $0 ~ "^[ \t]*\"?" key "\"?[ \t]*=" {
      sub(/^[^=]*=[ \t]*/, "")
      if (match($0, /^"([^"\\]|\\.)*"/) || match($0, /^\047[^\047]*\047/)) print substr($0, 1, RLENGTH)
      else { sub(/[ \t]*(#.*)?$/, ""); print }
      exit
    }' "$config"
}

# Removes the quotes from a value of config.toml, and unescapes \" and \\.
unquoted() {
  sed -e "s/^'\(.*\)'\$/\1/" -e t -e 's/^"\(.*\)"$/\1/' -e 's/\\\(["\\]\)/\1/g'
}

# Prints the API key. Postern knows every way to write it. A configuration that Postern refuses is read here.
api_key() {
  "$support/postern" --config-dir "$support" config key 2>/dev/null || setting auth api_key | unquoted
}

# Prints the key's header as a line of curl's configuration, where \" and \\ mean the same as in TOML.
request() {
  key=$(api_key | sed 's/[\\"]/\\&/g')
  printf 'header = "X-API-Key: %s"\n' "$key"
}

case "${1:-}" in
  copy-key)
    api_key | tr -d '\n' | pbcopy
    exit ;;
  start)
    launchctl enable "$target"
    launchctl bootstrap "gui/$(id -u)" "$plist" || launchctl kickstart "$target"
    exit ;;
  restart)
    launchctl kickstart -k "$target"
    exit ;;
  quit)
    launchctl bootout "$target"
    exit ;;
  logs)
    open "$HOME/Library/Logs/Postern"
    exit ;;
  open-console)
    exec "$support/postern" open ;;
  doctor)
    exec "$support/postern" doctor ;;
esac

# Quotes the path with the kind of quote that it does not contain, because neither program supports escapes.
case "$0" in
  *\"*) me="'$0'" ;;
  *) me="\"$0\"" ;;
esac
action() {
  printf '%s | bash=%s param1=%s terminal=%s refresh=true\n' "$1" "$me" "$2" "${3:-false}"
}

title() {
  if [ "${SWIFTBAR:-}" = 1 ]; then
    printf '| sfimage=%s\n---\n' "$2"
  else
    printf '%s\n---\n' "$1"
  fi
}

host_program=xbar
[ "${SWIFTBAR:-}" = 1 ] && host_program=swiftbar

# Drops lines with parameters other than the few that the service uses. Such a line could run a program when clicked.
harmless() {
  LC_ALL=C awk '
    BEGIN { known = "^[ \t]*(sfimage=[A-Za-z0-9.]+|color=[A-Za-z0-9#,]+|href=http://[][A-Za-z0-9/.:%?#@!$&()*+,;=_~-]+)([ \t]|$)" }
    {
      bar = index($0, "|")
      rest = bar == 0 ? "" : substr($0, bar + 1)
      links = 0
      while (match(rest, known)) {
        if (rest ~ /^[ \t]*href=/) links++
        rest = substr(rest, RLENGTH + 1)
      }
      if (rest ~ /^[ \t]*$/ && links < 2) print
    }'
}

# Prints the reason if the socket must not be used, otherwise nothing.
distrust() {
  if [ $(($(printf %s "$socket" | wc -c))) -gt 103 ]; then
    echo 'State not shown: the path of postern.sock is too long'
  elif [ -e "$socket" ] || [ -L "$socket" ]; then
    own=$(find "$support/." "$socket" -prune \( -type d -o -type s \) -user "$(id -u)" ! -perm -020 ! -perm -002 | wc -l)
    [ $((own)) = 2 ] || echo 'State not shown: postern.sock is not a socket, or others may replace it'
  fi
}

# Reports whether any program listens on the port. Connects, but sends nothing.
port_is_taken() {
  host=$(setting server host | unquoted)
  port=$(setting server port | tr -d _)
  case "$host" in '' | 0.0.0.0) host=127.0.0.1 ;; ::) host=::1 ;; esac
  [ "${port:-3001}" != 0 ] && nc -z -w 1 "$host" "${port:-3001}" >/dev/null 2>&1
}

is_running() {
  launchctl print "$target" 2>/dev/null | grep -q '^[[:space:]]*state = running'
}

reason=$(distrust)
status=
if [ -z "$reason" ]; then
  answer=$(request | curl --silent --max-time 3 --noproxy '*' --write-out '\n%{http_code}' --config - \
    --unix-socket "$socket" "http://localhost/api/v1/status?as=$host_program" 2>/dev/null)
  status=$(printf '%s\n' "$answer" | tail -n 1)
fi

is_up=yes
case "$status" in
  200) printf '%s\n' "$answer" | sed -e '$d' -e '/^$/d' | harmless ;;
  429) title 'Postern' envelope; echo 'Running, busy just now' ;;
  401) title 'Postern !' exclamationmark.triangle; echo 'Running, with another key: restart it after editing the configuration' ;;
  000 | '')
    if is_running; then
      title 'Postern ?' questionmark.circle
      echo 'Running'
      echo "${reason:-It does not answer on its socket: if it was just updated, restart it}"
    else
      is_up=no
      title 'Postern -' xmark.circle
      if [ -e "$plist" ]; then echo 'Not running'; else echo 'Not installed'; fi
      if port_is_taken; then echo "Port ${port:-3001} is taken by another program"; fi
    fi ;;
  *) title 'Postern !' exclamationmark.triangle; echo "Running, but it answers $status" ;;
esac

echo ---
[ "$is_up" = yes ] && action 'Open console' open-console
action 'Copy API key' copy-key
if [ "$is_up" = yes ]; then
  action 'Restart' restart
  action 'Quit' quit
elif [ -e "$plist" ]; then
  action 'Start' start
fi
action 'Open logs' logs
action 'Doctor' doctor true
