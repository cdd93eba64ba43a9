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
    quoted=$value
    case ${COMP_WORDS[COMP_CWORD]} in
      [\'\"]*) ;;
      *) printf -v quoted %q "$value" ;;
    esac
    COMPREPLY+=("$quoted")
  done < <(command postern complete -- "${line_words[@]}" 2>/dev/null)
}
complete -o default -F _postern postern
