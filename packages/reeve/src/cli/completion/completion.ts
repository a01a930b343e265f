import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'

/**
 * Scripts that call `__complete` with the words up to the cursor. Without completions, bash and zsh
 * fall back to file names.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_reeve() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _reeve reeve
`,
  zsh: `#compdef reeve
_reeve() {
  local -a offers
  local line
  for line in \${(f)"$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}; do
    offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#offers} )); then _describe reeve offers; else _files; fi
}
compdef _reeve reeve
`,
  fish: `function __reeve_offers
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c reeve -a '(__reeve_offers)'
`,
}

export async function runCompletion({ args, host }: CommandContext): Promise<number> {
  const [shell = ''] = args
  if (!Object.hasOwn(SCRIPTS, shell)) {
    throw new UsageError(`SHELL is one of ${Object.keys(SCRIPTS).join(', ')}, not "${shell}".`)
  }
  host.out(SCRIPTS[shell] ?? '')
  return EXIT_CODES.ok
}
