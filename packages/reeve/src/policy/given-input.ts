import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { InputProblem } from './asker.ts'
import { isObject, newPlanOf } from './plan-document.ts'
import type { PlainObject, Subject } from './subject.ts'

/** The subject of a trial, by the members that its input has. The input was read from JSON. */
export function subjectOfInput(input: unknown): Result<Subject, InputProblem> {
  const { job, plan, run, namespace, token, existing_job: existing } = isObject(input) ? input : {}
  if (plan !== undefined) {
    const document = newPlanOf(plan)
    if (!document.ok) return err({ member: 'plan', message: document.error })
    return ok({ kind: 'plan', plan: document.value, run: isObject(run) ? plain(run) : {} })
  }
  if (!isObject(job)) return err({ member: '', message: 'Input must have a plan or a job' })
  return ok({
    kind: 'job',
    job: plain(job),
    existingJob: isObject(existing) ? plain(existing) : undefined,
    namespace: typeof namespace === 'string' ? namespace : namespaceOf(job),
    token: isObject(token) ? plain(token) : undefined,
    variables: new Map(),
  })
}

function namespaceOf(job: Readonly<Record<string, unknown>>): string {
  return typeof job['Namespace'] === 'string' ? job['Namespace'] : 'default'
}

function plain(data: Readonly<Record<string, unknown>>): PlainObject {
  // JSON holds nothing but plain data.
  return data as PlainObject
}
