import { UsageError } from './failure.ts'
import { shortId } from './output/table.ts'
import { chooseOne } from './prefix.ts'

/** Candidates that are looked at: one more than is shown when there are several. */
const CANDIDATES_MAX = 11
const DIGITS_MIN = 2
const DIGITS_OF_UUID = 32

interface IdSearch<T> {
  /** `allocation`: what is looked for. */
  readonly noun: string
  /** What the person wrote. */
  readonly given: string
  /** The command that lists what there is. */
  readonly lists: string
  /** What begins with these hex digits, always an even number of them. */
  readonly search: (prefix: string) => AsyncIterable<T>
  /** What tells a candidate from the others, besides its id. */
  readonly describe: (one: T) => string
}

/** The one record that is meant by a UUID, or by the beginning of one. */
export async function findById<T extends { readonly ID: string }>(
  options: IdSearch<T>,
): Promise<T> {
  const { noun, given, lists, search, describe } = options
  if (!isIdPrefix(given)) {
    throw new UsageError(
      `"${given}" cannot be the id of ${withArticle(noun)}: ids are hex digits, of which the ` +
        `first two or more are enough. "${lists}" lists them.`,
    )
  }
  const digits = digitsOf(given)
  const found: T[] = []
  for await (const candidate of search(digits.slice(0, digits.length - (digits.length % 2)))) {
    if (digitsOf(candidate.ID).startsWith(digits)) found.push(candidate)
    if (found.length === CANDIDATES_MAX) break
  }
  return chooseOne({
    noun,
    given,
    found,
    lists,
    idOf: (one) => one.ID,
    describe: (one) => `${one.ID}  ${describe(one)}`,
  })
}

/** Whether a text could be the beginning of an id. */
export function isIdPrefix(text: string): boolean {
  const { length } = digitsOf(text)
  return /^[0-9a-f-]+$/i.test(text) && length >= DIGITS_MIN && length <= DIGITS_OF_UUID
}

function digitsOf(id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** The short form of an id, or the whole one where it was asked for. */
export function idText(id: string, isVerbose: boolean): string {
  return isVerbose ? id : shortId(id)
}
