import type { Evaluation, Job } from '@reeve/contract'
import { newEvaluation } from '../../src/model/index.ts'
import { aJob } from './job.ts'
import { anId } from './ids.ts'

/** A pending evaluation as a registration of the job makes it. */
export function anEvaluation(job: Job = aJob(), fields: Partial<Evaluation> = {}): Evaluation {
  const evaluation = newEvaluation(job, {
    id: anId('eval', 100),
    trigger: 'job-register',
    timeMs: 0,
    jobModifyIndex: job.JobModifyIndex,
  })
  return { ...evaluation, ...fields }
}
