import { err, ok, type Result } from '../result.ts'
import { fromBigInt, parseNumber } from '../number.ts'
import type { YamlValue } from './value.ts'

const CORE = 'tag:yaml.org,2002:'

/** Resolves a scalar by its tag or, if plain, by the core schema. */
export function resolveScalar(
  { text, isPlain }: { readonly text: string; readonly isPlain: boolean },
  tag: string | undefined,
): Result<YamlValue, string> {
  if (tag === undefined) return isPlain ? resolvePlain(text) : ok(text)
  if (tag === '!') return ok(text)
  const read = BY_TAG.get(tag)
  if (read === undefined) return err(`the tag ${JSON.stringify(shortTag(tag))} is not known`)
  const value = read(text)
  if (value === undefined)
    return err(`${JSON.stringify(text)} is not a value of ${JSON.stringify(shortTag(tag))}`)
  return ok(value)
}

/** Whether a collection may have this tag. */
export function isCollectionTag(tag: string, kind: 'map' | 'seq'): boolean {
  return tag === `${CORE}${kind}` || tag === '!'
}

export function shortTag(tag: string): string {
  return tag.startsWith(CORE) ? `!!${tag.slice(CORE.length)}` : tag
}

const NULLS = /^(?:~|null|Null|NULL)?$/
const BOOLS = /^(?:true|True|TRUE|false|False|FALSE)$/
const DECIMAL = /^[-+]?[0-9]+$/
const PREFIXED = /^(?:0o[0-7]+|0x[0-9a-fA-F]+)$/
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

function resolvePlain(text: string): Result<YamlValue, string> {
  if (NULLS.test(text)) return ok(null)
  if (BOOLS.test(text)) return ok(text.toLowerCase() === 'true')
  if (NOT_FINITE.test(text)) return err(`${text} is not a finite number; quote it if it is text`)
  if (!PREFIXED.test(text) && !FLOAT.test(text)) return ok(text)
  const number = readNumber(text)
  return number === undefined ? err(`the number ${text.slice(0, 32)}… is out of range`) : ok(number)
}

/** Longer than the largest number in base 8: longer digits are out of range in every base. */
const PREFIXED_LENGTH_MAX = 400

function readNumber(text: string): number | bigint | undefined {
  if (!PREFIXED.test(text)) return parseNumber(text)
  return text.length > PREFIXED_LENGTH_MAX ? undefined : fromBigInt(BigInt(text))
}

type ReadScalar = (text: string) => YamlValue | undefined

const BY_TAG: ReadonlyMap<string, ReadScalar> = new Map<string, ReadScalar>([
  [`${CORE}str`, (text) => text],
  [`${CORE}null`, (text) => (NULLS.test(text) ? null : undefined)],
  [`${CORE}bool`, (text) => (BOOLS.test(text) ? text.toLowerCase() === 'true' : undefined)],
  [
    `${CORE}int`,
    (text) => (DECIMAL.test(text) || PREFIXED.test(text) ? readNumber(text) : undefined),
  ],
  [`${CORE}float`, (text) => (FLOAT.test(text) ? readNumber(text) : undefined)],
  // Types without a counterpart in JSON stay strings.
  [`${CORE}timestamp`, (text) => text],
  [`${CORE}binary`, (text) => text.replace(/\s+/g, '')],
])
