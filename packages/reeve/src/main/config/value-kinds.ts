import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isList, isObject, toBool, toNumber, toText } from '@reeve/hcl'
import { takeHigher, type Kind } from './kind.ts'

export const bool: Kind<boolean> = {
  name: '`true` or `false`',
  flag: 'switch',
  isMap: false,
  isSecret: false,
  fromValue: (value) => orWanted(toBool(value), 'true or false'),
  fromText: (text) => orWanted(toBool(text), 'true or false'),
  merge: takeHigher,
  toPlain: (value) => value,
}

function orWanted<T>(value: T | undefined, wanted: string): Result<T, string> {
  return value === undefined ? err(wanted) : ok(value)
}

interface IntegerRange {
  readonly min: number
  readonly max: number
}

export function integer({ min, max }: IntegerRange): Kind<number> {
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
    fromText: (text) => inRange(/^-?[0-9]{1,16}$/.test(text) ? Number(text) : undefined),
    merge: takeHigher,
    toPlain: (value) => value,
  }
}

/** More servers, origins or names than this are a mistake of a program that wrote the file. */
const ENTRIES_MAX = 256

/** In the environment separated by commas, as flags repeated. */
export function listOf(element: Kind<string>): Kind<readonly string[]> {
  return {
    name: `list of ${element.name}`,
    flag: 'repeated',
    isMap: false,
    isSecret: false,
    fromValue: (value) =>
      isList(value) ? readAll(value, (one) => element.fromValue(one)) : err('a list'),
    fromText: (text, place) => readAll(splitList(text), (one) => element.fromText(one, place)),
    merge: takeHigher,
    toPlain: (value) => value,
  }
}

function splitList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function readAll<P>(
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

interface MapRules {
  readonly name: RegExp
  readonly value: RegExp
  /** Reads after "must be a map of names to text; ". */
  readonly rule: string
}

/** Names to text; numbers and bools become text. Neither flags nor variables hold a map. */
export function mapOf(rules: MapRules): Kind<Readonly<Record<string, string>>> {
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
    fromText: () => err(`${wanted}, which only a file can hold`),
    merge: (lower, higher) => ({ ...lower, ...higher }),
    toPlain: (value) => value,
  }
}
