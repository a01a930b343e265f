import assert from 'node:assert/strict'
import test from 'node:test'
import type { ClientStatus } from '@reeve/contract'
import { anAllocation, anId, NOW_MS } from '../../../test/build/index.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { mergeReportedHealth } from './deployment-health.ts'

const status = (Healthy: boolean | null, fields = {}) => ({
  Healthy,
  Timestamp: isoFromMs(NOW_MS - 1_000),
  Canary: false,
  ModifyIndex: 1,
  ...fields,
})

const cases: readonly {
  name: string
  was: boolean | null | undefined
  said: boolean | null | undefined
  client?: ClientStatus
  want: boolean | null | undefined
}[] = [
  { name: 'the first word counts', was: undefined, said: true, want: true },
  { name: 'also when it is a bad one', was: null, said: false, want: false },
  { name: 'who says nothing changes nothing', was: true, said: undefined, want: true },
  { name: 'null takes nothing back', was: true, said: null, want: true },
  { name: 'a healthy one may turn', was: true, said: false, want: false },
  { name: 'an unhealthy one does not recover', was: false, said: true, want: false },
  {
    name: 'one that fails before it was healthy is not',
    was: undefined,
    said: undefined,
    client: 'failed',
    want: false,
  },
  {
    name: 'one that fails after it was healthy was',
    was: true,
    said: undefined,
    client: 'failed',
    want: true,
  },
]
for (const { name, was, said, client = 'running', want } of cases)
  test(`reported health: ${name}`, () => {
    const row = anAllocation({
      DeploymentID: anId('any', 1),
      DeploymentStatus: was === undefined ? undefined : status(was),
    })
    const health = mergeReportedHealth({
      row,
      clientStatus: client,
      reportedStatus: said === undefined ? undefined : status(said),
      index: 9,
      timeMs: NOW_MS,
    })
    assert.equal(health?.Healthy, want)
  })

test('reported health: failure without a deployment has no health', () => {
  const row = anAllocation()
  const report = {
    row,
    clientStatus: 'failed',
    reportedStatus: null,
    index: 9,
    timeMs: NOW_MS,
  } as const
  assert.equal(mergeReportedHealth(report), undefined)
})

test('reported health: node cannot set canary or future times', () => {
  const row = anAllocation({
    DeploymentID: anId('any', 1),
    DeploymentStatus: status(null, { Canary: true }),
  })
  const said = status(true, { Canary: false, Timestamp: isoFromMs(NOW_MS + 5_000) })
  const report = { row, clientStatus: 'running', index: 9, timeMs: NOW_MS } as const
  assert.deepEqual(mergeReportedHealth({ ...report, reportedStatus: said }), {
    Healthy: true,
    Timestamp: isoFromMs(NOW_MS),
    Canary: true,
    ModifyIndex: 9,
  })
  assert.equal(
    mergeReportedHealth({ ...report, reportedStatus: status(true) })?.Timestamp,
    isoFromMs(NOW_MS - 1_000),
  )
})
