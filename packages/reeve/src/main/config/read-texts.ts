import { didYouMean, quoteText } from '@reeve/hcl'
import type { DeclaredOption } from './file-tree.ts'
import type { TextPlace } from './kind.ts'
import { optionEntries, type OptionName } from './options.ts'
import { subjectOf, type ConfigProblem, type Origin } from './problem.ts'
import type { Reading, Setting } from './read-settings.ts'

/** As the command line gives them; a repeated flag gives a list. */
export type FlagValues = ReadonlyMap<OptionName, true | string | readonly string[]>

export type Environment = Readonly<Record<string, string | undefined>>

export function readFlags(flags: FlagValues, place: TextPlace): Reading {
  const texts: GivenText[] = []
  for (const [name, option] of optionEntries) {
    const given = flags.get(name)
    if (given === undefined || option.flag === undefined) continue
    const text = given === true ? 'true' : typeof given === 'string' ? given : given.join(',')
    texts.push({ name, option, text, origin: { kind: 'flag', name: option.flag.long } })
  }
  return readAll(texts, place)
}

export function readEnvironment(environment: Environment, place: TextPlace): Reading {
  const texts: GivenText[] = []
  for (const [name, option] of optionEntries) {
    if (option.environment === undefined) continue
    const text = environment[option.environment]
    // Shells and unit files cannot always unset what they set: empty counts as not set.
    if (text === undefined || text === '') continue
    texts.push({ name, option, text, origin: { kind: 'environment', name: option.environment } })
  }
  return readAll(texts, place)
}

interface GivenText extends DeclaredOption {
  readonly text: string
  readonly origin: Origin
}

function readAll(texts: readonly GivenText[], place: TextPlace): Reading {
  const settings: Setting[] = []
  const problems: ConfigProblem[] = []
  for (const { name, option, text, origin } of texts) {
    const read = option.kind.fromText(text, place)
    if (read.ok) {
      settings.push({ name, option, value: read.value, origin })
      continue
    }
    const given = option.kind.isSecret ? '' : `, but it is ${quoteText(text)}`
    problems.push({
      origin,
      message: `${subjectOf(option, origin)} must be ${read.error}${given}.`,
    })
  }
  return { settings, problems }
}

const PREFIX = 'REEVE_'

/**
 * Misspelt variables are never read, and nobody would know. Only near misses are told: the command
 * line and tasks have variables with the same beginning.
 */
export function findStrayVariables(environment: Environment): readonly string[] {
  const known = optionEntries.flatMap(
    ([, option]) => option.environment?.slice(PREFIX.length) ?? [],
  )
  return Object.keys(environment).flatMap((name) => {
    const rest = name.slice(PREFIX.length)
    if (!name.startsWith(PREFIX) || known.includes(rest)) return []
    const near = didYouMean(rest, known).replace('"', `"${PREFIX}`)
    return near === '' ? [] : [`The variable ${quoteText(name)} is not read.${near}`]
  })
}
