import { parseArgs } from 'node:util'
import type { ProofExperiment } from './experiments.ts'

export interface ProofOptions {
  readonly minutes: number
  readonly seed: number
  readonly experiments: readonly ProofExperiment[]
  /** The page to write; undefined when only some experiments run and no page was named. */
  readonly out: string | undefined
}

export type ParsedOptions =
  | { readonly kind: 'run'; readonly options: ProofOptions }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'invalid'; readonly reason: string }

const MINUTES_DEFAULT = 20
/** A week: longer is a mistake. */
const MINUTES_MAX = 7 * 24 * 60
const SEED_MAX = 2 ** 31 - 2
export const PAGE = 'docs/proof.md'

/** @param freshSeed is used unless a seed is given */
export function parseOptions(
  args: readonly string[],
  known: readonly ProofExperiment[],
  freshSeed: () => number,
): ParsedOptions {
  const values = readValues(args)
  if (values instanceof Error) return invalid(values.message, known)
  if (values.help === true) return { kind: 'help', text: usage(known) }
  const minutes = Number(values.minutes ?? MINUTES_DEFAULT)
  if (!(minutes > 0 && minutes <= MINUTES_MAX))
    return invalid(`--minutes must be above 0 and at most ${MINUTES_MAX}.`, known)
  const seed = values.seed === undefined ? freshSeed() : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 1 || seed > SEED_MAX)
    return invalid(`--seed must be a whole number from 1 to ${SEED_MAX}.`, known)
  const names = values.only?.split(',').map((name) => name.trim()) ?? []
  const unknown = names.find((name) => !known.some((one) => one.name === name))
  if (unknown !== undefined) return invalid(`There is no experiment "${unknown}".`, known)
  const isWhole = names.length === 0
  const experiments = isWhole ? known : known.filter(({ name }) => names.includes(name))
  const out = values.out ?? (isWhole ? PAGE : undefined)
  return { kind: 'run', options: { minutes, seed, experiments, out } }
}

function readValues(args: readonly string[]) {
  try {
    const options = {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string' },
      out: { type: 'string' },
      help: { type: 'boolean' },
    } as const
    return parseArgs({ args: [...args], options }).values
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown))
  }
}

function invalid(reason: string, known: readonly ProofExperiment[]): ParsedOptions {
  return { kind: 'invalid', reason: `${reason}\n${usage(known)}` }
}

function usage(known: readonly ProofExperiment[]): string {
  const names = known.map(({ name }) => name).join(', ')
  return `Usage: npm run proof -- [--minutes N] [--seed S] [--only a,b] [--out FILE]
Default: ${MINUTES_DEFAULT} minutes, a fresh seed, every experiment, ${PAGE} (with --only: no page)
Experiments: ${names}`
}
