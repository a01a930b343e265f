import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noPaint } from '../output/color.ts'
import { formatPlanChanges } from './run.ts'

function aChange(address: string, change: object) {
  return { address, change }
}

test('plan changes: resources, drift and outputs with the attributes that differ', () => {
  const plan = {
    resource_changes: [
      aChange('disk.a', {
        actions: ['create'],
        before: null,
        after: { size: 10, name: 'a' },
        after_unknown: { id: true },
      }),
      aChange('disk.b', {
        actions: ['update'],
        before: { size: 10, name: 'b', key: 'old' },
        after: { size: 20, name: 'b', key: 'new' },
        after_sensitive: { key: true },
      }),
      aChange('disk.c', { actions: ['no-op'], before: { size: 1 }, after: { size: 1 } }),
      aChange('disk.d', {
        actions: ['delete', 'create'],
        before: { zone: 'x' },
        after: { zone: 'y' },
      }),
      aChange('disk.e', { actions: ['no-op'], importing: { id: 'e1' }, before: {}, after: {} }),
    ],
    resource_drift: [
      aChange('disk.f', { actions: ['update'], before: { size: 5 }, after: { size: 6 } }),
    ],
    output_changes: {
      place: { actions: ['update'], before: 'eu', after: 'us' },
      same: { actions: ['no-op'], before: 1, after: 1 },
      secret: { actions: ['create'], before: null, after: 'x', after_sensitive: true },
    },
  }
  assert.equal(
    formatPlanChanges(plan, noPaint),
    `Resource changes:
  + disk.a
      id: (known after apply)
      name: "a"
      size: 10
  ~ disk.b
      key: (sensitive)
      size: 10 -> 20
  -/+ disk.d
      zone: "x" -> "y"
  = disk.e (imported)

Drift:
  ~ disk.f
      size: 5 -> 6

Output changes:
  ~ place: "eu" -> "us"
  + secret: (sensitive)
`,
  )
})

test('plan changes: a plan without changes has no text', () => {
  assert.equal(formatPlanChanges({ resource_changes: [] }, noPaint), '')
})
