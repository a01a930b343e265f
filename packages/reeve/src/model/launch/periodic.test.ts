import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, PeriodicConfig } from '@reeve/contract'
import { aGroup, aJob } from '../../../test/build/job.ts'
import { decideLaunch, nextLaunchMs, periodicChild } from './periodic.ts'

const UTC = (): number => 0
const NOON = Date.parse('2026-01-01T12:00:00Z')
const MINUTE_MS = 60_000

function periodicOf(fields: Input<PeriodicConfig>): PeriodicConfig {
  const { Periodic } = aJob({ Type: 'batch', Periodic: fields })
  assert.ok(Periodic !== null)
  return Periodic
}

test('next launch: earliest of several specs', () => {
  const periodic = periodicOf({ Specs: ['0 18 * * *', '30 13 * * *', '0 0 30 2 *'] })
  assert.equal(nextLaunchMs(periodic, NOON, UTC), NOON + 90 * MINUTE_MS)
})

test('next launch: uses the time zone of the job', () => {
  const periodic = periodicOf({ Spec: '0 15 * * *', TimeZone: 'Europe/Berlin' })
  const offsetAt = (zone: string): number => (zone === 'Europe/Berlin' ? 60 * MINUTE_MS : 0)
  assert.equal(nextLaunchMs(periodic, NOON, offsetAt), NOON + 120 * MINUTE_MS)
})

test('next launch: none after the end of a schedule', () => {
  assert.equal(nextLaunchMs(periodicOf({ Spec: '0 0 1 1 * 2020' }), NOON, UTC), undefined)
  assert.equal(nextLaunchMs(periodicOf({ Spec: '0 0 31 4 *' }), NOON, UTC), undefined)
})

const decisions: readonly {
  name: string
  spec?: string
  lateMs?: number
  ProhibitOverlap?: boolean
  isOverlapping?: boolean
  /** Relative to the due time. */
  want: { launchMs: number | undefined; doneMs: number }
}[] = [
  { name: 'in time is launched under its own time', want: { launchMs: 0, doneMs: 0 } },
  { name: 'that is slow keeps its time', lateMs: 59_000, want: { launchMs: 0, doneMs: 0 } },
  {
    name: 'that was missed is made up for now',
    lateMs: 5 * MINUTE_MS,
    want: { launchMs: 5 * MINUTE_MS, doneMs: 5 * MINUTE_MS },
  },
  {
    name: 'with others that were missed too is one launch',
    spec: '*/5 * * * * * *',
    lateMs: 12_000,
    want: { launchMs: 12_000, doneMs: 12_000 },
  },
  {
    name: 'is launched beside an earlier one',
    isOverlapping: true,
    want: { launchMs: 0, doneMs: 0 },
  },
  {
    name: 'is passed over where overlap is prohibited',
    isOverlapping: true,
    ProhibitOverlap: true,
    want: { launchMs: undefined, doneMs: 0 },
  },
  {
    name: 'is launched where overlap is prohibited and there is none',
    ProhibitOverlap: true,
    want: { launchMs: 0, doneMs: 0 },
  },
  {
    name: 'that was missed is passed over for good where overlap is prohibited',
    lateMs: 90 * MINUTE_MS,
    isOverlapping: true,
    ProhibitOverlap: true,
    want: { launchMs: undefined, doneMs: 90 * MINUTE_MS },
  },
]
for (const { name, spec = '@hourly', lateMs = 0, want, ...rest } of decisions)
  test(`launch decision: a launch ${name}`, () => {
    const { launchMs, doneMs } = decideLaunch({
      periodic: periodicOf({ Spec: spec, ProhibitOverlap: rest.ProhibitOverlap ?? false }),
      dueMs: NOON,
      nowMs: NOON + lateMs,
      isOverlapping: rest.isOverlapping ?? false,
      offsetAt: UTC,
    })
    const relative = (ms: number | undefined) => (ms === undefined ? undefined : ms - NOON)
    assert.deepEqual({ launchMs: relative(launchMs), doneMs: relative(doneMs) }, want)
  })

test('periodic child: parent without schedule and history', () => {
  const parent = {
    ...aJob({
      ID: 'report',
      Type: 'batch',
      Meta: { a: 'b' },
      Periodic: { Spec: '@hourly' },
      groups: [aGroup({ Scaling: { ID: 'p', Max: 3 } })],
    }),
    Version: 7,
    Stable: true,
    Status: 'running' as const,
    StatusDescription: 'x',
    VersionTag: { Name: 'golden', Description: '', TaggedTime: 1 },
  }
  const child = periodicChild(parent, NOON + 999)
  const { Scaling } = child.TaskGroups[0] ?? {}
  assert.deepEqual(
    [child.ID, child.Name, child.ParentID, child.Periodic, child.Meta],
    ['report/periodic-1767268800', 'report/periodic-1767268800', 'report', null, { a: 'b' }],
  )
  assert.deepEqual(
    [child.Version, child.Stable, child.Status, child.StatusDescription, child.VersionTag],
    [0, false, 'pending', '', null],
  )
  assert.deepEqual([Scaling?.ID, Scaling?.Target['Job']], ['', child.ID])
})
