# Put this where bash-completion looks, or: source <(postern completion bash)
# `postern complete` prints the candidates. Other people may have chosen the names, so nothing is evaluated as code.
_postern() {
  local line value word part gap rest=$COMP_LINE last='' before='' current option quoted
  local -a line_words
  COMPREPLY=()
  for part in "${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    rest=${rest#"$part"}
    # Quotes and backslashes belong to the line, not to the words.
    word=${part//\\/}
    word=${word#[\'\"]}
    word=${word%[\'\"]}
    # bash also splits words at : and =, but completes only what follows.
    if [[ -z $gap && ($part == [:=]* || $last == *[:=]) ]]; then
      before=${line_words[${#line_words[@]} - 1]}
      line_words[${#line_words[@]} - 1]+=$word
    else
      before=
      line_words+=("$word")
    fi
    last=$part
  done
  current=${line_words[${#line_words[@]} - 1]}
  [[ $last == [:=]* ]] && before=$current
  # The value of an option is completed as a word of its own.
  if [[ $before == --*=* ]]; then
    option=${current%%=*}
    line_words[${#line_words[@]} - 1]=$option
    current=${current#*=}
    before=${before#*=}
    line_words+=("$current")
  fi
  while IFS= read -r line; do
    value=${line%%$'\t'*}
    # Without candidates, bash itself completes files.
    case $value in :files | :folders) return ;; esac
    [[ $value == "$current"* ]] || continue
    value=${value#"$before"}
    case ${COMP_WORDS[COMP_CWORD]} in
      \'*\' | \"*\") printf -v quoted %q "$value" ;;
      [\'\"]*) _postern_within "${COMP_WORDS[COMP_CWORD]:0:1}" "$value" ;;
      *) printf -v quoted %q "$value" ;;
    esac
    COMPREPLY+=("$quoted")
  done < <(command postern complete -- "${line_words[@]:1}" 2>/dev/null)
}

# Sets `quoted` to the text, escaped for an open quote: bash inserts it unchanged, and double quotes do not stop $(…).
_postern_within() {
  local at character
  quoted=
  for ((at = 0; at < ${#2}; at++)); do
    character=${2:at:1}
    case $1$character in
      "''") quoted+="'\\''" ;;
      '"\' | '""' | '"$' | '"`') quoted+="\\$character" ;;
      # In double quotes bash also expands the history, and a backslash before ! would remain in the text.
      '"!') quoted+="\"'!'\"" ;;
      *) quoted+=$character ;;
    esac
  done
}
complete -o default -F _postern postern
