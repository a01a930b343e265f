import { ApiError } from '@reeve/sdk'
import { CommandError, EXIT_CODES, UsageError } from './errors.ts'
import { shortenId } from './output/format.ts'

/** Candidates shown for an ambiguous prefix. */
const CANDIDATES_SHOWN_MAX = 10

interface Resolution<T> {
  /** The kind of object, such as `job`. */
  readonly noun: string
  /** The ID or prefix from the command line. */
  readonly input: string
  /** All objects whose ID has the prefix. */
  readonly matches: readonly T[]
  readonly idOf: (one: T) => string
  /** Formats a candidate with more than its ID. */
  readonly describe: (one: T) => string
  /** The searched scope, such as `in namespace "default"`. */
  readonly scope?: string
  /** The command that lists all objects of the kind. */
  readonly listCommand: string
}

/** Returns the object with an ID or a unique prefix of one. */
export function resolveOne<T>(resolution: Resolution<T>): T {
  const { noun, input, matches, scope, listCommand } = resolution
  const exact = matches.filter((one) => resolution.idOf(one) === input)
  const [first, ...others] = exact.length > 0 ? exact : matches
  if (first !== undefined && others.length === 0) return first
  if (first === undefined) {
    throw new CommandError(
      `There is no ${noun} "${input}"${scope === undefined ? '' : ` ${scope}`}.`,
      { code: EXIT_CODES.missing, hint: `For a list, run "${listCommand}".` },
    )
  }
  throw new CommandError(
    exact.length > 0
      ? `There are several ${noun}s "${input}":`
      : `Several ${noun}s begin with "${input}":`,
    {
      code: EXIT_CODES.missing,
      hint: formatCandidates([first, ...others].map(resolution.describe)),
    },
  )
}

function formatCandidates(lines: readonly string[]): string {
  const named = lines.slice(0, CANDIDATES_SHOWN_MAX).map((line) => `  ${line}`)
  const more =
    lines.length > CANDIDATES_SHOWN_MAX
      ? [`  … and ${lines.length - CANDIDATES_SHOWN_MAX} more`]
      : []
  return [...named, ...more, 'Type a longer prefix.'].join('\n')
}

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

const NOT_FOUND = 404

/** Returns the result of a request, or undefined for 404. */
export async function undefinedIfNotFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === NOT_FOUND) return undefined
    throw thrown
  }
}
