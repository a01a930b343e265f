import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WorkspaceRow } from '../../model/index.ts'
import {
  autoDestroyAfterApply,
  withAutoDestroyAt,
  withAutoDestroyDuration,
} from './auto-destroy.ts'

const HOUR_MS = 3_600_000

/** A workspace with only the fields that auto-destroy reads. */
function aWorkspace(fields: Partial<WorkspaceRow> = {}): WorkspaceRow {
  return {
    id: 'ws-1',
    organizationId: 'org-1',
    projectId: 'prj-1',
    name: 'web',
    description: null,
    createdMs: 0,
    updatedMs: 0,
    latestChangeMs: 0,
    lock: null,
    executionMode: 'remote',
    overwritesExecutionMode: false,
    autoApply: false,
    autoDestroyAtMs: null,
    autoDestroyActivityDuration: null,
    autoDestroyStatus: null,
    inheritsProjectAutoDestroy: true,
    source: 'api',
    sourceName: null,
    sourceUrl: null,
    workingDirectory: null,
    toolVersion: null,
    ...fields,
  }
}

function facts({ autoDestroyAtMs, autoDestroyStatus, latestChangeMs }: WorkspaceRow) {
  return [autoDestroyAtMs, autoDestroyStatus, latestChangeMs]
}

const DURATIONS = [
  { duration: '1h', atMs: HOUR_MS },
  { duration: '2d', atMs: 48 * HOUR_MS },
  { duration: '9999d', atMs: 9_999 * 24 * HOUR_MS },
]
for (const { duration, atMs } of DURATIONS)
  test(`duration: ${duration} counts from the last change`, () => {
    const found = withAutoDestroyDuration(aWorkspace({ latestChangeMs: 7 }), duration)
    assert.deepEqual(facts(found), [7 + atMs, 'scheduled', 7])
  })

test('duration: no duration clears the deadline, and the same duration keeps it', () => {
  const lasting = withAutoDestroyDuration(aWorkspace(), '1h')
  assert.deepEqual(facts(withAutoDestroyDuration(lasting, null)), [null, null, 0])
  const moved = withAutoDestroyAt(lasting, 5)
  assert.equal(withAutoDestroyDuration(moved, '1h'), moved)
})

interface Report {
  readonly name: string
  readonly duration?: string
  readonly atMs?: number
  readonly isDestroy?: boolean
  readonly status?: 'applied' | 'errored'
  readonly found: readonly unknown[]
}

const REPORTS: readonly Report[] = [
  { name: 'a change restarts the clock', duration: '1h', found: [9 + HOUR_MS, 'scheduled', 9] },
  { name: 'without a duration a time stays', atMs: 50, found: [50, 'scheduled', 9] },
  {
    name: 'what was destroyed waits for the next change',
    duration: '1h',
    isDestroy: true,
    found: [null, 'destroyed', 9],
  },
  { name: 'one that failed changes nothing', status: 'errored', found: [null, null, 0] },
]
for (const {
  name,
  duration = null,
  atMs = null,
  isDestroy = false,
  status = 'applied',
  found,
} of REPORTS)
  test(`apply: ${name}`, () => {
    const before = withAutoDestroyAt(aWorkspace({ autoDestroyActivityDuration: duration }), atMs)
    assert.deepEqual(facts(autoDestroyAfterApply(before, { isDestroy, status }, 9)), found)
  })

test('apply: a failed destruction is reported only if one was due', () => {
  const due = aWorkspace({ autoDestroyStatus: 'destroying' })
  const failed = { isDestroy: true, status: 'errored' } as const
  assert.equal(autoDestroyAfterApply(due, failed, 9).autoDestroyStatus, 'errored')
  assert.equal(autoDestroyAfterApply(aWorkspace(), failed, 9).autoDestroyStatus, null)
})
