import { EXIT_CODES } from './exit-code.ts'
import { CommandFailure } from './failure.ts'

/** How many of the candidates are named when a beginning fits several. */
const NAMED_MAX = 10

interface Choice<T> {
  /** `job`, `allocation`: what is looked for. */
  readonly noun: string
  /** What the person wrote. */
  readonly given: string
  /** Everything whose id begins so. */
  readonly found: readonly T[]
  readonly idOf: (one: T) => string
  /** One candidate in the list of candidates: more than its id. */
  readonly describe: (one: T) => string
  /** Where it was looked for, as in `in namespace "default"`. */
  readonly where?: string
  /** The command that lists what there is. */
  readonly lists: string
}

/** The one thing that a person means by its id, or by the beginning of it. */
export function chooseOne<T>(choice: Choice<T>): T {
  const { noun, given, found, where, lists } = choice
  const exact = found.filter((one) => choice.idOf(one) === given)
  const [first, ...others] = exact.length > 0 ? exact : found
  if (first !== undefined && others.length === 0) return first
  if (first === undefined) {
    throw new CommandFailure(
      `There is no ${noun} "${given}"${where === undefined ? '' : ` ${where}`}.`,
      { code: EXIT_CODES.missing, hint: `For a list, run "${lists}".` },
    )
  }
  throw new CommandFailure(
    exact.length > 0
      ? `There are several ${noun}s "${given}":`
      : `Several ${noun}s begin with "${given}":`,
    { code: EXIT_CODES.missing, hint: candidates([first, ...others].map(choice.describe)) },
  )
}

function candidates(lines: readonly string[]): string {
  const named = lines.slice(0, NAMED_MAX).map((line) => `  ${line}`)
  const more = lines.length > NAMED_MAX ? [`  … and ${lines.length - NAMED_MAX} more`] : []
  return [...named, ...more, 'Type a longer prefix.'].join('\n')
}
