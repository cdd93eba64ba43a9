# Put this into ~/.config/fish/completions as postern.fish, or: postern completion fish | source
# `postern complete` prints the candidates. Other people may have chosen the names, so nothing is evaluated as code.
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
