import { UsageError } from './failure.ts'
import { shortenId } from './output/table.ts'
import { resolveOne } from './prefix.ts'

/** Candidates to read: one more than are shown. */
const CANDIDATES_MAX = 11
const DIGITS_MIN = 2
const DIGITS_OF_UUID = 32

interface IdSearch<T> {
  /** The kind of object, such as `allocation`. */
  readonly noun: string
  /** The ID or prefix from the command line. */
  readonly input: string
  /** The command that lists all objects of the kind. */
  readonly listCommand: string
  /** Searches by prefix; the number of digits is always even. */
  readonly search: (prefix: string) => AsyncIterable<T>
  /** Text that distinguishes the candidates besides their IDs. */
  readonly describe: (one: T) => string
}

/** Finds the record with a UUID or a unique prefix of one. */
export async function resolveIdPrefix<T extends { readonly ID: string }>(
  options: IdSearch<T>,
): Promise<T> {
  const { noun, input, listCommand, search, describe } = options
  if (!isIdPrefix(input)) {
    throw new UsageError(
      `"${input}" cannot be the id of ${addArticle(noun)}: ids are hex digits, of which the ` +
        `first two or more are enough. "${listCommand}" lists them.`,
    )
  }
  const digits = hexDigits(input)
  const found: T[] = []
  for await (const candidate of search(digits.slice(0, digits.length - (digits.length % 2)))) {
    if (hexDigits(candidate.ID).startsWith(digits)) found.push(candidate)
    if (found.length === CANDIDATES_MAX) break
  }
  return resolveOne({
    noun,
    input,
    matches: found,
    listCommand,
    idOf: (one) => one.ID,
    describe: (one) => `${one.ID}  ${describe(one)}`,
  })
}

/** Whether the text can be an ID prefix. */
export function isIdPrefix(text: string): boolean {
  const { length } = hexDigits(text)
  return /^[0-9a-f-]+$/i.test(text) && length >= DIGITS_MIN && length <= DIGITS_OF_UUID
}

function hexDigits(id: string): string {
  return id.replaceAll('-', '').toLowerCase()
}

function addArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** Returns the short form of an ID, or the full ID with `--verbose`. */
export function formatId(id: string, isVerbose: boolean): string {
  return isVerbose ? id : shortenId(id)
}
