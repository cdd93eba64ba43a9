# Put this where bash-completion looks, or: source <(postern completion bash)
# `postern complete` says what fits. A name in it may be chosen by others: it is never read as code.
_postern() {
  local line value word current quoted
  local -a line_words
  COMPREPLY=()
  # Quotes and backslashes are of the line, not of the words.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    word=${word//\\/}
    word=${word#[\'\"]}
    line_words+=("${word%[\'\"]}")
  done
  current=${line_words[COMP_CWORD - 1]}
  while IFS= read -r line; do
    value=${line%%$'\t'*}
    # Without an answer bash completes files by itself.
    case $value in :files | :folders) return ;; esac
    [[ $value == "$current"* ]] || continue
    case ${COMP_WORDS[COMP_CWORD]} in
      \'*\' | \"*\") printf -v quoted %q "$value" ;;
      [\'\"]*) _postern_within "${COMP_WORDS[COMP_CWORD]:0:1}" "$value" ;;
      *) printf -v quoted %q "$value" ;;
    esac
    COMPREPLY+=("$quoted")
  done < <(command postern complete -- "${line_words[@]}" 2>/dev/null)
}

# Sets `quoted` to the text as it goes into an open quote: bash inserts it as it is, and a double quote stops no $(…).
_postern_within() {
  local at character
  quoted=
  for ((at = 0; at < ${#2}; at++)); do
    character=${2:at:1}
    case $1$character in
      "''") quoted+="'\\''" ;;
      '"\' | '""' | '"$' | '"`') quoted+="\\$character" ;;
      # The history is expanded there too, and a backslash would stay.
      '"!') quoted+="\"'!'\"" ;;
      *) quoted+=$character ;;
    esac
  done
}
complete -o default -F _postern postern
