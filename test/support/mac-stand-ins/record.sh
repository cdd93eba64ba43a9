# shellcheck shell=sh
# Read by the stand-ins: keeps what they were asked, one line a call, for a test to look at.
record() {
  name=$1; shift
  { printf '%s' "$name"; for argument in "$@"; do printf '\t%s' "$argument"; done; printf '\n'; } >> "$MAC_STAND_IN/asked"
}
record "${0##*/}" "$@"
