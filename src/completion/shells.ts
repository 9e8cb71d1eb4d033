/** What `completion SHELL` prints. Each asks `sidecar-first __complete` at every Tab, so that it always fits the version that runs. */
export const shells = {
  bash: `# sidecar-first completion bash: source it, or put it into ~/.local/share/bash-completion/completions/sidecar-first
_sidecar_first() {
  # By spaces alone: bash splits words at = and : as well.
  local line="\${COMP_LINE:0:COMP_POINT}" IFS=$' \\t\\n'
  local -a words
  read -ra words <<<"$line"
  case $line in *[$' \\t']) words+=('') ;; esac
  local typed="\${words[-1]}" piece="\${COMP_WORDS[COMP_CWORD]}"
  case $piece in '=' | ':') piece='' ;; esac
  local ahead="\${typed%"$piece"}" found
  COMPREPLY=()
  while IFS= read -r found; do
    case $found in
    ':0') compopt -o default 2>/dev/null ;;
    ':'*) ;;
    *) found="\${found%%$'\\t'*}" && COMPREPLY+=("\${found#"$ahead"}") ;;
    esac
  done < <("$1" __complete "\${words[@]:1}" 2>/dev/null)
}
complete -F _sidecar_first sidecar-first
`,
  zsh: `#compdef sidecar-first
# sidecar-first completion zsh: source it behind compinit, or put it into a folder of $fpath as _sidecar-first
_sidecar_first() {
  local -a lines found
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ \${lines[-1]} == ':0' ]] && { _files; return }
  found=("\${(@)\${(@)lines[1,-2]}%%$'\\t'*}")
  (( \${#lines} > 1 )) && compadd -- "\${found[@]}"
}
if [[ "\${funcstack[1]}" == _sidecar-first ]]; then
  _sidecar_first "$@"
else
  compdef _sidecar_first sidecar-first
fi
`,
  fish: `# sidecar-first completion fish: source it, or put it into ~/.config/fish/completions/sidecar-first.fish
function __sidecar_first_complete
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    set -l lines ($before[1] __complete $before[2..-1] "$typed" 2>/dev/null)
    test (count $lines) -gt 0; or return
    if test "$lines[-1]" = ':0'
        __fish_complete_path "$typed"
    else if test (count $lines) -gt 1
        printf '%s\\n' $lines[1..-2]
    end
end
complete -c sidecar-first -f -a '(__sidecar_first_complete)'
`,
} as const

export type Shell = keyof typeof shells
