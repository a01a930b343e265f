import type { Invocation } from '../command.ts'
import { FROM_JOB_FILE } from '../settings/settings.ts'
import { shellLine } from '@reeve/kit/shell-words.ts'

interface Around extends Pick<Invocation, 'flags'> {
  readonly host: Pick<Invocation['host'], 'environment'>
  readonly settings?: Pick<Invocation['settings'], 'region' | 'sources'>
}

/** The job file of this command and how it is to be read, for a command that reads it again. */
export function fileWords({ args, flags }: Pick<Invocation, 'args' | 'flags'>): readonly string[] {
  const repeated = (name: string): readonly string[] =>
    flags.texts(name).flatMap((value) => [`--${name}`, value])
  return [
    ...(flags.has('hcl1') ? ['--hcl1'] : []),
    ...repeated('var'),
    ...repeated('var-file'),
    args[0] ?? '',
  ]
}

/** A command to go on with, which reaches the same server, region and namespace as this one. */
export function nextCommand(
  { flags, host, settings }: Around,
  words: readonly string[],
  namespace = flags.text('namespace'),
): string {
  // The next command may not read the file that named the region.
  const fromFile = settings?.sources.region === FROM_JOB_FILE ? settings.region : undefined
  const places = { address: flags.text('address'), region: flags.text('region') ?? fromFile }
  const kept = Object.entries(places).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const usual = host.environment['REEVE_NAMESPACE'] || 'default'
  const place = namespace === undefined || namespace === usual ? [] : ['--namespace', namespace]
  return shellLine(['reeve', ...words, ...kept, ...place])
}
