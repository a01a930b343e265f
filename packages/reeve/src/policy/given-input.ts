import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { InputProblem } from './asker.ts'
import { isObject, validateNewPlan } from './plan-document.ts'
import type { JsonObject, PolicyInput } from './subject.ts'

const NEITHER =
  'Input must have a plan or a job: {"plan": …}, {"job": …}, a plan exported as JSON, or the JSON of a job'

/**
 * Returns the document that policies of kind `opa` are evaluated against: a job or a plan by itself
 * is wrapped in the member that policies read. Anything else is rejected, because most policies
 * pass when they find nothing to object to. The input was read from JSON.
 */
export function policyDocument(input: unknown): Result<JsonObject, string> {
  if (!isObject(input)) return err(NEITHER)
  if (isObject(input['plan']) || isObject(input['job'])) return ok(asJsonObject(input))
  if (Array.isArray(input['resource_changes']) && typeof input['format_version'] === 'string')
    return ok({ plan: asJsonObject(input), run: {} })
  if (isObject(input['Job'])) return ok(documentOfJob(input['Job']))
  if (Array.isArray(input['TaskGroups'])) return ok(documentOfJob(input))
  return err(NEITHER)
}

function documentOfJob(job: Readonly<Record<string, unknown>>): JsonObject {
  return { job: asJsonObject(job), namespace: jobNamespace(job) }
}

/** The subject of a trial. The input was read from JSON. */
export function toPolicyInput(input: unknown): Result<PolicyInput, InputProblem> {
  if (isObject(input) && input['plan'] !== undefined && !isObject(input['plan']))
    return err({ member: 'plan', message: 'The plan must be a JSON object' })
  const read = policyDocument(input)
  if (!read.ok) return err({ member: '', message: read.error })
  const { job, plan, run, namespace, token, existing_job: existing } = read.value
  if (plan !== undefined) {
    const document = validateNewPlan(plan)
    if (!document.ok) return err({ member: 'plan', message: document.error })
    return ok({ kind: 'plan', plan: document.value, run: isObject(run) ? asJsonObject(run) : {} })
  }
  if (!isObject(job)) return err({ member: '', message: NEITHER })
  return ok({
    kind: 'job',
    job: asJsonObject(job),
    existingJob: isObject(existing) ? asJsonObject(existing) : undefined,
    namespace: typeof namespace === 'string' ? namespace : jobNamespace(job),
    token: isObject(token) ? asJsonObject(token) : undefined,
    variables: new Map(),
  })
}

function jobNamespace(job: Readonly<Record<string, unknown>>): string {
  return typeof job['Namespace'] === 'string' ? job['Namespace'] : 'default'
}

function asJsonObject(data: Readonly<Record<string, unknown>>): JsonObject {
  // Parsed from JSON, so all values are JSON values.
  return data as JsonObject
}
