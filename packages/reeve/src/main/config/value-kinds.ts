import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isList, isObject, toBool, toNumber, toText } from '@reeve/hcl'
import { replace, type OptionType } from './kind.ts'

export const bool: OptionType<boolean> = {
  name: '`true` or `false`',
  flag: 'switch',
  isMap: false,
  isSecret: false,
  fromValue: (value) => okOrRule(toBool(value), 'true or false'),
  fromString: (text) => okOrRule(toBool(text), 'true or false'),
  merge: replace,
  toJson: (value) => value,
}

function okOrRule<T>(value: T | undefined, wanted: string): Result<T, string> {
  return value === undefined ? err(wanted) : ok(value)
}

interface IntegerRange {
  readonly min: number
  readonly max: number
}

export function integer({ min, max }: IntegerRange): OptionType<number> {
  const inRange = (value: unknown): Result<number, string> =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? ok(value)
      : err(`a whole number from ${min} to ${max}`)
  return {
    name: `number from ${min} to ${max}`,
    flag: 'once',
    isMap: false,
    isSecret: false,
    fromValue: (value) => inRange(toNumber(value)),
    fromString: (text) => inRange(/^-?[0-9]{1,16}$/.test(text) ? Number(text) : undefined),
    merge: replace,
    toJson: (value) => value,
  }
}

/** Maximum number of entries; more indicate a bug in a program that generated the file. */
const ENTRIES_MAX = 256

/** A list: comma-separated in the environment, repeated as flags. */
export function listOf(element: OptionType<string>): OptionType<readonly string[]> {
  return {
    name: `list of ${element.name}`,
    flag: 'repeated',
    isMap: false,
    isSecret: false,
    fromValue: (value) =>
      isList(value) ? readElements(value, (one) => element.fromValue(one)) : err('a list'),
    fromString: (text, place) =>
      readElements(splitList(text), (one) => element.fromString(one, place)),
    merge: replace,
    toJson: (value) => value,
  }
}

function splitList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function readElements<P>(
  parts: readonly P[],
  read: (part: P) => Result<string, string>,
): Result<readonly string[], string> {
  if (parts.length > ENTRIES_MAX) return err(`a list of at most ${ENTRIES_MAX}`)
  const values: string[] = []
  for (const part of parts) {
    const one = read(part)
    if (!one.ok) return err(`a list in which each is ${one.error}`)
    values.push(one.value)
  }
  return ok(values)
}

interface MapPatterns {
  readonly name: RegExp
  readonly value: RegExp
  /** Completes "must be a map of names to text; " in error messages. */
  readonly rule: string
}

/** A map of strings; numbers and bools are converted. Not available as a flag or variable. */
export function mapOf(rules: MapPatterns): OptionType<Readonly<Record<string, string>>> {
  const wanted = `a map of at most ${ENTRIES_MAX} names to text; ${rules.rule}`
  return {
    name: 'map of text',
    flag: 'once',
    isMap: true,
    isSecret: false,
    fromValue: (value) => {
      const pairs = isObject(value) ? Object.entries(value) : undefined
      if (pairs === undefined || pairs.length > ENTRIES_MAX) return err(wanted)
      const texts: [string, string][] = []
      for (const [name, member] of pairs) {
        const text = toText(member)
        if (text === undefined || !rules.name.test(name) || !rules.value.test(text))
          return err(`${wanted} (look at ${JSON.stringify(name.slice(0, 64))})`)
        texts.push([name, text])
      }
      return ok(Object.fromEntries(texts))
    },
    fromString: () => err(`${wanted}, which only a file can hold`),
    merge: (lower, higher) => ({ ...lower, ...higher }),
    toJson: (value) => value,
  }
}
