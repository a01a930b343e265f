import { EXIT_CODES } from './exit-code.ts'
import { CommandError } from './failure.ts'

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
