import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAllocation } from '../../../test/build/index.ts'
import type { AllocationRow } from '../../model/index.ts'
import { chooseAllocationsToStop } from './group-count.ts'

interface Case {
  readonly name: string
  /** Name indexes of staying allocations, of canaries, and of migrating ones. */
  readonly keep?: readonly number[]
  readonly canaries?: readonly number[]
  readonly migrate?: readonly number[]
  /** Failed and completed ones among `keep`. */
  readonly failed?: readonly number[]
  readonly complete?: readonly number[]
  readonly count: number
  readonly want: readonly string[]
}

const cases: readonly Case[] = [
  { name: 'nothing goes when there are enough', keep: [0, 1], count: 2, want: [] },
  { name: 'the highest indexes go', keep: [0, 1, 2], count: 1, want: ['keep 2', 'keep 1'] },
  {
    name: 'after a promotion those go whose names canaries have',
    keep: [0, 1],
    canaries: [0],
    count: 2,
    want: ['keep 0'],
  },
  {
    name: 'more canaries than are wanted: those with the highest indexes go as well',
    keep: [0],
    canaries: [0, 1, 2],
    count: 1,
    want: ['keep 0', 'canary 2', 'canary 1'],
  },
  {
    name: 'canaries in the place of all others, and one more',
    keep: [0, 1],
    canaries: [0, 1, 2],
    count: 2,
    want: ['keep 0', 'keep 1', 'canary 2'],
  },
  {
    name: 'those that must move anyway go before the highest indexes',
    keep: [1, 2],
    migrate: [0],
    count: 2,
    want: ['migrate 0'],
  },
  {
    name: 'the other holder of a name that must move is not a second one',
    keep: [0, 1],
    migrate: [0],
    count: 1,
    want: ['migrate 0', 'keep 1'],
  },
  {
    name: 'failed ones that nobody replaces go before the highest indexes',
    keep: [0, 1],
    failed: [0],
    count: 1,
    want: ['keep 0'],
  },
  { name: 'second holders of a name go', keep: [0, 0, 1], count: 2, want: ['keep 0'] },
  {
    name: 'finished work goes last',
    keep: [0, 1],
    complete: [1],
    count: 1,
    want: ['keep 0'],
  },
]

function rowsOf(
  kind: string,
  indexes: readonly number[],
  statusOf: (index: number) => AllocationRow['ClientStatus'],
) {
  return indexes.map((index, place) => {
    return anAllocation({ index, ID: `${kind} ${index} ${place}`, ClientStatus: statusOf(index) })
  })
}

for (const c of cases)
  test(`surplus: ${c.name}`, () => {
    const statusOf = (index: number): AllocationRow['ClientStatus'] => {
      if (c.failed?.includes(index) === true) return 'failed'
      return c.complete?.includes(index) === true ? 'complete' : 'running'
    }
    const canaries = rowsOf('canary', c.canaries ?? [], () => 'running')
    const keep: AllocationRow[] = [...rowsOf('keep', c.keep ?? [], statusOf), ...canaries]
    const migrate = rowsOf('migrate', c.migrate ?? [], () => 'running')
    const promoted = new Set(canaries.map(({ ID }) => ID))
    const surplus = [...chooseAllocationsToStop({ keep, migrate }, c.count, promoted)]
    assert.deepEqual(surplus.map(({ ID }) => ID.replace(/ \d+$/, '')).toSorted(), c.want.toSorted())
  })
