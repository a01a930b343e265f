import type { JobFilePlace } from '@reeve/contract'
import type { JobFileAliases } from '../../compat/index.ts'
import { nodeCrypto } from '@reeve/kit/node'
import type { Random } from '@reeve/kit/clock.ts'
import {
  locatePaths,
  formatLocatedProblem,
  formatProblems,
  parseJobFile,
  parseLegacyJobFile,
  locateProblems,
  type JobFileResult,
} from '../../jobspec/index.ts'
import { jobWithDefaults, LIMITS, type JobDefaults, type JobProblem } from '../../model/index.ts'

/** A task for the job file thread. */
export interface JobFileTask {
  readonly text: string
  /** Text of a variable file; empty for none. */
  readonly variables: string
  readonly isLegacy: boolean
  /** Defaults for unset fields, if they are to be filled. */
  readonly defaults: JobDefaults | undefined
  readonly nowMs: number
  /** Alternative names of blocks and attributes; none unless given. */
  readonly aliases?: JobFileAliases
  /** Values of variables by name, which take precedence over `variables`. */
  readonly flags?: Readonly<Record<string, string>>
  /** Problems of the parsed job, to be located in the file. */
  readonly problems?: readonly JobProblem[]
  /** Fields of the job to be located in the file, such as `TaskGroups[0].Count`. */
  readonly paths?: readonly string[]
}

export type JobFileOutcome =
  /** With a line for each of the task's problems, which contains its position in the file. */
  | {
      readonly kind: 'job'
      readonly json: string
      readonly placed: readonly string[]
      /** Positions of the task's paths. */
      readonly places: readonly JobFilePlace[]
    }
  | { readonly kind: 'refused'; readonly message: string }

/** File name in messages about unnamed text. */
const UNNAMED_FILE = 'input.hcl'
const VARIABLES_FILE = 'variables.hcl'

/**
 * Parses a job file as a server does: without files or environment, and ignoring values of
 * undeclared variables. The result is JSON text, so that a large job costs the calling thread
 * little.
 */
export function runJobFileTask(task: JobFileTask, random: Random): JobFileOutcome {
  const parsed = parseTask(task, random)
  if (!parsed.ok) return { kind: 'refused', message: formatProblems(parsed.error) }
  const { job, positions } = parsed.value
  const { defaults } = task
  const json = JSON.stringify(defaults === undefined ? job : jobWithDefaults(job, defaults))
  const problemLines = locateProblems(task.problems ?? [], positions).map(formatLocatedProblem)
  const places = locatePaths(task.paths ?? [], positions)
  if (json.length <= LIMITS.parsedJobCharsMax)
    return { kind: 'job', json, placed: problemLines, places }
  const message = `The job has ${json.length} characters as JSON; at most ${LIMITS.parsedJobCharsMax} can be registered.`
  return { kind: 'refused', message }
}

function parseTask(task: JobFileTask, random: Random): JobFileResult {
  const { text, variables, nowMs, flags = {}, aliases } = task
  const named = aliases === undefined ? {} : { aliases }
  if (task.isLegacy) return parseLegacyJobFile({ file: UNNAMED_FILE, text, ...named })
  const variableTexts = variables === '' ? [] : [{ file: VARIABLES_FILE, text: variables }]
  const request = {
    file: UNNAMED_FILE,
    text,
    variableTexts,
    flags,
    strict: false,
    files: undefined,
  }
  return parseJobFile({ ...request, ...named, random, crypto: nodeCrypto, nowMs })
}
