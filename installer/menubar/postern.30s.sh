#!/bin/sh
# <xbar.title>Postern</xbar.title>
# <xbar.desc>State of the Postern gateway to Messages, and what to do with it.</xbar.desc>
# <xbar.dependencies>postern</xbar.dependencies>
# <swiftbar.hideAbout>true</swiftbar.hideAbout>
# <swiftbar.hideRunInTerminal>true</swiftbar.hideRunInTerminal>
# <swiftbar.hideDisablePlugin>true</swiftbar.hideDisablePlugin>
#
# For SwiftBar and xbar. The gateway renders the text above the items, so nothing is parsed here. The API key goes
# from the configuration to curl by stdin, and to the clipboard by pbcopy's stdin: no process list shows it.
set -u

label=local.postern.agent
support="$HOME/Library/Application Support/Postern"
config="$support/config.toml"
plist="$HOME/Library/LaunchAgents/$label.plist"
target="gui/$(id -u)/$label"

# The value of one key of one section of config.toml, as it is written there: with its quotes.
setting() {
  [ -r "$config" ] || return 0
  awk -v section="$1" -v key="$2" '
    /^[ \t]*\[/ { line = $0; gsub(/[ \t]|#.*/, "", line); inside = (line == "[" section "]"); next }
    inside && $0 ~ "^[ \t]*\"?" key "\"?[ \t]*=" {
      sub(/^[^=]*=[ \t]*/, "")
      if (match($0, /^"([^"\\]|\\.)*"/) || match($0, /^\047[^\047]*\047/)) print substr($0, 1, RLENGTH)
      else { sub(/[ \t]*(#.*)?$/, ""); print }
      exit
    }' "$config"
}

# The same with its quotes taken off and \" and \\ read.
unquoted() {
  sed -e "s/^'\(.*\)'\$/\1/" -e t -e 's/^"\(.*\)"$/\1/' -e 's/\\\(["\\]\)/\1/g'
}

address() {
  host=$(setting server host | unquoted)
  port=$(setting server port | tr -d _)
  case "$host" in
    '' | 0.0.0.0) host=127.0.0.1 ;;
    ::) host='[::1]' ;;
    *:*) host="[$host]" ;;
  esac
  printf 'http://%s:%s' "$host" "${port:-3001}"
}

# What curl reads as its configuration: in it \" and \\ mean what they mean in TOML.
request() {
  key=$(setting auth api_key | unquoted | sed 's/[\\"]/\\&/g')
  printf 'header = "X-API-Key: %s"\n' "$key"
}

case "${1:-}" in
  copy-key)
    setting auth api_key | unquoted | tr -d '\n' | pbcopy
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
  doctor)
    exec "$support/postern" doctor ;;
esac

# A path in quotes of the kind it does not hold itself: neither program knows an escape.
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

answer=$(request | curl --silent --max-time 3 --noproxy '*' --write-out '\n%{http_code}' --config - \
  "$(address)/api/v1/status?as=$host_program" 2>/dev/null)
status=$(printf '%s\n' "$answer" | tail -n 1)

is_up=yes
case "$status" in
  200) printf '%s\n' "$answer" | sed -e '$d' -e '/^$/d' ;;
  429) title 'Postern' envelope; echo 'Running, busy just now' ;;
  401) title 'Postern !' exclamationmark.triangle; echo 'Running, with another key: restart it after editing the configuration' ;;
  000 | '')
    is_up=no
    title 'Postern -' xmark.circle
    if [ -e "$plist" ]; then echo 'Not running'; else echo 'Not installed'; fi ;;
  *) title 'Postern !' exclamationmark.triangle; echo "Running, but it answers $status" ;;
esac

echo ---
action 'Copy API key' copy-key
if [ "$is_up" = yes ]; then
  action 'Restart' restart
  action 'Quit' quit
elif [ -e "$plist" ]; then
  action 'Start' start
fi
action 'Open logs' logs
action 'Doctor' doctor true
