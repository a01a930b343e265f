import type { JobParseRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PARSE_DEFAULTS, refusal, type Refusal } from '../../model/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import type { WorkloadContext } from '../context.ts'

export interface ParseRequest {
  /** Undefined if the request has none. */
  readonly body: JobParseRequest | undefined
  readonly namespace: string
  /** The origin of the task, for fair scheduling on the parser thread. */
  readonly origin: TaskOrigin
}

/**
 * Parses a job file to JSON, or returns all problems of its text, one per line. Warnings have no
 * field in the response and are dropped.
 */
export async function parseJob(
  { jobFiles, clock }: Pick<WorkloadContext, 'jobFiles' | 'clock'>,
  { body, namespace, origin }: ParseRequest,
): Promise<Result<string, Refusal>> {
  if (body === undefined) return invalidJobFile('Request body is empty')
  const text = body.JobHCL ?? ''
  if (text.trim() === '') return invalidJobFile('Job spec is empty')
  const isCanonical = body.Canonicalize ?? false
  const task = {
    text,
    variables: body.Variables ?? '',
    isLegacy: body.HCLv1 ?? false,
    defaults: isCanonical ? { ...PARSE_DEFAULTS, namespace: jobNamespace(namespace) } : undefined,
    nowMs: clock.nowMs(),
  }
  const outcome = await jobFiles.read(task, origin)
  if (!outcome.ok) return outcome
  return outcome.value.kind === 'job'
    ? ok(outcome.value.json)
    : invalidJobFile(`Failed to parse job: ${outcome.value.message}`)
}

/** Returns the namespace; a wildcard is not the namespace of a job. */
function jobNamespace(namespace: string): string {
  return namespace === '*' ? PARSE_DEFAULTS.namespace : namespace
}

function invalidJobFile(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
