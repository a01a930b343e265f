import type { Job } from '@reeve/contract'
import { refusal, type Refusal } from '../../model/index.ts'

/** What a new version may not change about a job (reference §2.3); undefined when all is well. */
export function checkTransition(job: Job, current: Job | undefined): Refusal | undefined {
  if (job.Payload !== null) return no("job can't be submitted with a payload, only dispatched")
  if (current === undefined)
    return job.Dispatched ? no("job can't be submitted with 'Dispatched' set") : undefined
  if (current.Type !== job.Type)
    return no(`cannot update job from type "${current.Type}" to "${job.Type}"`)
  if (current.Dispatched !== job.Dispatched) return no("field 'Dispatched' is read-only")
  return (
    checkToggle('periodic', current.Periodic, job.Periodic) ??
    checkToggle('parameterized', current.ParameterizedJob, job.ParameterizedJob)
  )
}

function checkToggle(word: string, before: object | null, after: object | null): Refusal | undefined {
  if ((before === null) === (after === null)) return undefined
  return before === null
    ? no(`cannot update non-${word} job to being ${word}`)
    : no(`cannot update ${word} job to being non-${word}`)
}

function no(message: string): Refusal {
  return refusal('invalid-input', message)
}
