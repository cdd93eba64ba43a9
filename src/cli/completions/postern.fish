# Put this into ~/.config/fish/completions as postern.fish, or: postern completion fish | source
# `postern complete` says what fits. A name in it may be chosen by others: it is never read as code.
function __postern_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command postern complete -- $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case ':files'
            __fish_complete_path (commandline -ct)
        case ':folders'
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\n' $lines
    end
end
complete -c postern -f -a '(__postern_complete)'
