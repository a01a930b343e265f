import { didYouMean, quoteText } from '@reeve/hcl'
import type { DeclaredOption, Setting, SourceSettings } from './read-config-file.ts'
import type { ParseContext } from './option.ts'
import { optionEntries, type OptionName } from './options.ts'
import { settingName, type ConfigProblem, type Origin } from './problem.ts'

/** The flags of a command line; a repeated flag has a list. */
export type FlagValues = ReadonlyMap<OptionName, true | string | readonly string[]>

export type Environment = Readonly<Record<string, string | undefined>>

export function readFlags(flags: FlagValues, place: ParseContext): SourceSettings {
  const texts: RawSetting[] = []
  for (const [name, option] of optionEntries) {
    const given = flags.get(name)
    if (given === undefined || option.flag === undefined) continue
    const text = given === true ? 'true' : typeof given === 'string' ? given : given.join(',')
    texts.push({ name, option, text, origin: { kind: 'flag', name: option.flag.long } })
  }
  return parseAll(texts, place)
}

export function readEnvironment(environment: Environment, place: ParseContext): SourceSettings {
  const texts: RawSetting[] = []
  for (const [name, option] of optionEntries) {
    if (option.environment === undefined) continue
    const text = environment[option.environment]
    // Empty means unset, because shells and unit files cannot always unset variables.
    if (text === undefined || text === '') continue
    texts.push({ name, option, text, origin: { kind: 'environment', name: option.environment } })
  }
  return parseAll(texts, place)
}

interface RawSetting extends DeclaredOption {
  readonly text: string
  readonly origin: Origin
}

function parseAll(texts: readonly RawSetting[], place: ParseContext): SourceSettings {
  const settings: Setting[] = []
  const problems: ConfigProblem[] = []
  for (const { name, option, text, origin } of texts) {
    const read = option.kind.fromString(text, place)
    if (read.ok) {
      settings.push({ name, option, value: read.value, origin })
      continue
    }
    const given = option.kind.isSecret ? '' : `, but it is ${quoteText(text)}`
    problems.push({
      origin,
      message: `${settingName(option, origin)} must be ${read.error}${given}.`,
    })
  }
  return { settings, problems }
}

const PREFIX = 'REEVE_'

/**
 * Finds misspelled variables, which would be ignored silently. Reports only near misses, because
 * the command line and tasks have variables with the same prefix.
 */
export function findMisspeltVariables(environment: Environment): readonly string[] {
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
