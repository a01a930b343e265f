import type { CommandContext } from '../command.ts'
import { JOB_FILE_SOURCE } from '../settings/settings.ts'
import { shellLine } from '@reeve/kit/shell-words.ts'

interface SuggestContext extends Pick<CommandContext, 'flags'> {
  readonly host: Pick<CommandContext['host'], 'environment'>
  readonly settings?: Pick<CommandContext['settings'], 'region' | 'sources'>
}

/** Returns the job file arguments of this command, for a suggested command. */
export function jobFileArgs({
  args,
  flags,
}: Pick<CommandContext, 'args' | 'flags'>): readonly string[] {
  const repeated = (name: string): readonly string[] =>
    flags.strings(name).flatMap((value) => [`--${name}`, value])
  return [
    ...(flags.has('hcl1') ? ['--hcl1'] : []),
    ...repeated('var'),
    ...repeated('var-file'),
    args[0] ?? '',
  ]
}

/** Returns a suggested command with the server, region and namespace of this one. */
export function suggestCommand(
  { flags, host, settings }: SuggestContext,
  words: readonly string[],
  namespace = flags.string('namespace'),
): string {
  // The suggested command may not read the job file that set the region.
  const fromFile = settings?.sources.region === JOB_FILE_SOURCE ? settings.region : undefined
  const connection = {
    address: flags.string('address'),
    region: flags.string('region') ?? fromFile,
  }
  const connectionFlags = Object.entries(connection).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const defaultNamespace = host.environment['REEVE_NAMESPACE'] || 'default'
  const namespaceFlag =
    namespace === undefined || namespace === defaultNamespace ? [] : ['--namespace', namespace]
  return shellLine(['reeve', ...words, ...connectionFlags, ...namespaceFlag])
}
