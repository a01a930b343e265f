import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import type { ClusterView } from '../../src/scheduler/index.ts'
import type { WorkloadContext } from '../../src/workload/index.ts'
import { placeInline } from '../../src/workload/evaluations/inline-placement.ts'
import { createTestServer } from '../api/harness.ts'
import { aGroup, aJob, anEvaluation } from '../build/index.ts'

const STAMP = { index: 100, timeMs: 1_000 }

async function aContext(fields: Partial<WorkloadContext> = {}) {
  const { context } = await createTestServer()
  const errors: (readonly [object, string])[] = []
  const log = { error: (about: object, message: string) => void errors.push([about, message]) }
  const evaluations = { mayScheduleInline: () => true }
  return { context: { ...context, evaluations, log, ...fields }, errors }
}

function registration(count: number) {
  const job = aJob({ TaskGroups: [aGroup({ Count: count })] })
  return { job, rows: [], evaluation: anEvaluation(job) }
}

function statusIn(rows: ReturnType<typeof placeInline>): string | undefined {
  const row = rows?.find(({ table }) => table === 'evaluations')?.row
  // Rows of this table are evaluations.
  return (row as Evaluation | undefined)?.Status
}

test('inline placement: a scheduler that fails is logged, and the evaluation is queued', async () => {
  const fault = new Error('no such job')
  // Whatever the scheduler asks first, it fails.
  const view = new Proxy({} as ClusterView, {
    get: () => {
      throw fault
    },
  })
  const { context, errors } = await aContext({ view })
  const made = registration(1)
  assert.equal(placeInline(context, made, STAMP), undefined)
  assert.deepEqual(errors, [
    [
      { evaluation: made.evaluation.ID, job: made.job.ID, namespace: 'default', err: fault },
      'the job could not be placed with its registration: its evaluation is queued',
    ],
  ])
})

test('inline placement: as many instances as the limit, and none more', async () => {
  const { context } = await aContext()
  assert.equal(statusIn(placeInline(context, registration(16), STAMP)), 'complete')
  assert.equal(placeInline(context, registration(17), STAMP), undefined)
})

test('inline placement: the queue is asked with the priority of the evaluation', async () => {
  const asked: number[] = []
  const mayScheduleInline = (priority: number): boolean => {
    asked.push(priority)
    return false
  }
  const { context } = await aContext({ evaluations: { mayScheduleInline } })
  const { evaluation, ...made } = registration(1)
  const urgent = { ...made, evaluation: { ...evaluation, Priority: 77 } }
  assert.equal(placeInline(context, urgent, STAMP), undefined)
  assert.deepEqual(asked, [77])
})
