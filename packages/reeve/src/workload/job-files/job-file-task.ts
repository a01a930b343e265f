import type { Random } from '../../kit/clock.ts'
import {
  formatProblems,
  parseJobFile,
  parseLegacyJobFile,
  type JobFileResult,
} from '../../jobspec/index.ts'
import { canonicalizeJob, LIMITS, type JobDefaults } from '../../model/index.ts'

/** A job file to read, as it is handed to another thread. */
export interface JobFileTask {
  readonly text: string
  /** The text of a variable file; empty for none. */
  readonly variables: string
  readonly isLegacy: boolean
  /** Set when unset fields are to be filled with defaults. */
  readonly defaults: JobDefaults | undefined
  readonly nowMs: number
}

export type JobFileOutcome =
  | { readonly kind: 'job'; readonly json: string }
  | { readonly kind: 'refused'; readonly message: string }

/** What the thread says: that it can take tasks, then one outcome for each. */
export type ReaderMessage = { readonly kind: 'ready' } | JobFileOutcome

/** Jobspec reference §1: what messages call a text that has no name of its own. */
const FILE = 'input.hcl'
const VARIABLES_FILE = 'variables.hcl'

/**
 * Reads a job file as a server does (jobspec reference §1): no files, no environment, and a value
 * for a variable that is not declared does no harm. The job is written out here, so that a large
 * one costs the thread that asked nothing but its text.
 */
export function runJobFileTask(task: JobFileTask, random: Random): JobFileOutcome {
  const read = readTask(task, random)
  if (!read.ok) return { kind: 'refused', message: formatProblems(read.error) }
  const { job } = read.value
  const { defaults } = task
  const json = JSON.stringify(defaults === undefined ? job : canonicalizeJob(job, defaults))
  if (json.length <= LIMITS.parsedJobCharsMax) return { kind: 'job', json }
  const message = `The job has ${json.length} characters as JSON; at most ${LIMITS.parsedJobCharsMax} can be registered.`
  return { kind: 'refused', message }
}

function readTask(task: JobFileTask, random: Random): JobFileResult {
  const { text, variables, nowMs } = task
  if (task.isLegacy) return parseLegacyJobFile({ file: FILE, text })
  const variableTexts = variables === '' ? [] : [{ file: VARIABLES_FILE, text: variables }]
  const request = { file: FILE, text, variableTexts, strict: false, files: undefined }
  return parseJobFile({ ...request, random, nowMs })
}
