import { Option as CommandOption } from 'commander'
import type { CommandFlags, CommandLine } from '../cli/index.ts'
import type { Option } from './config/option.ts'
import { optionEntries, type OptionName } from './config/options.ts'
import type { FlagValues } from './config/read-flags-and-env.ts'

/** Adds the flags of `reeve agent`: `--config` and one for each setting that has a flag. */
export function addAgentFlags(command: CommandLine['root']): void {
  command.addOption(
    collectRepeated(
      new CommandOption(
        '--config <PATH>',
        'a file, or a directory with *.hcl and *.json files; may be repeated, later ones win',
      ),
    ),
  )
  for (const [, option] of optionEntries) {
    const flag = toCommandOption(option)
    if (flag !== undefined) command.addOption(flag)
  }
}

function toCommandOption({
  flag,
  kind,
  help,
  byDefault,
}: Option<unknown>): CommandOption | undefined {
  if (flag === undefined) return undefined
  const usage = flag.argument === undefined ? flag.long : `${flag.long} <${flag.argument}>`
  const more = kind.flag === 'repeated' ? '; may be repeated' : ''
  const text = `${help.replace(/\.$/, '')}${more} (default: ${byDefault.text})`
  const option = new CommandOption(usage, text.replaceAll('`', ''))
  return kind.flag === 'repeated' ? collectRepeated(option) : option
}

/** Collects the values of a repeated flag; commander would keep only the last. */
function collectRepeated(option: CommandOption): CommandOption {
  return option.argParser((text: string, earlier: readonly string[] | undefined) => [
    ...(earlier ?? []),
    text,
  ])
}

export function readFlagValues(flags: CommandFlags): FlagValues {
  const values = new Map<OptionName, true | string | readonly string[]>()
  for (const [name, option] of optionEntries) {
    const given = flags[toCommandOption(option)?.attributeName() ?? '']
    if (given === true || typeof given === 'string') values.set(name, given)
    else if (Array.isArray(given)) values.set(name, stringsOf(given))
  }
  return values
}

export function stringsOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []
}
