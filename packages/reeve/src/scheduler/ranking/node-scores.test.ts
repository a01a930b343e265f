import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Spread } from '@reeve/contract'
import { aGroup, aJob, anId, aNode } from '../../../test/build/index.ts'
import { NodeTable } from '../feasibility/ready-nodes.ts'
import { roundScore } from './score.ts'
import { SpreadScorer } from './node-scores.ts'

type Targets = Input<Spread>['SpreadTarget']

/** One node per value with a number of allocations; returns the spread score of each node. */
function boosts(
  used: Readonly<Record<string, number>>,
  spreads: readonly { readonly targets: Targets; readonly weight?: number }[],
  count = 10,
): Readonly<Record<string, number>> {
  const names = Object.keys(used)
  const nodes = names.map((name, i) =>
    aNode({ ID: anId('node', i + 1), Meta: name === 'none' ? null : { rack: name } }),
  )
  const [group] = aJob({
    groups: [
      aGroup({
        Count: count,
        Spreads: spreads.map(({ targets, weight = 50 }) => ({
          Attribute: '${meta.rack}',
          Weight: weight,
          SpreadTarget: targets ?? null,
        })),
      }),
    ],
  }).TaskGroups
  assert.ok(group)
  const made = new SpreadScorer({
    spreads: group.Spreads ?? [],
    group,
    table: new NodeTable(nodes),
    findNode: (id) => nodes.find((node) => node.ID === id),
  })
  for (const [i, name] of names.entries())
    for (let n = 0; n < (used[name] ?? 0); n++)
      made.apply({ nodeId: anId('node', i + 1), group: group.Name, delta: 1 })
  const all = made.bucketScores()
  return Object.fromEntries(
    names.map((name, i) => [name, roundScore(all[made.bucketOf[i] ?? 0] ?? 0)]),
  )
}

const seventyThirty = [
  { Value: 'a', Percent: 70 },
  { Value: 'b', Percent: 30 },
]

const cases: readonly {
  readonly name: string
  readonly used: Readonly<Record<string, number>>
  readonly spreads: Parameters<typeof boosts>[1]
  readonly want: Readonly<Record<string, number>>
}[] = [
  {
    name: 'targets that are not reached yet',
    used: { a: 3, b: 0 },
    spreads: [{ targets: seventyThirty }],
    want: { a: 0.428571, b: 0.666667 },
  },
  {
    name: 'targets that are reached',
    used: { a: 7, b: 3 },
    spreads: [{ targets: seventyThirty }],
    want: { a: -0.142857, b: -0.333333 },
  },
  {
    name: 'a value that nobody named and nothing is left for',
    used: { a: 0, c: 0 },
    spreads: [{ targets: seventyThirty }],
    want: { a: 0.857143, c: -1 },
  },
  {
    name: 'values that share what no target names',
    used: { a: 0, c: 1, d: 0 },
    spreads: [{ targets: [{ Value: 'a', Percent: 50 }] }],
    want: { a: 0.8, c: 0.6, d: 0.8 },
  },
  {
    name: 'a value that should have none is as bad as the worst',
    used: { a: 9, b: 0, c: 30 },
    spreads: [
      {
        targets: [
          { Value: 'a', Percent: 90 },
          { Value: 'b', Percent: 0 },
          { Value: 'c', Percent: 10 },
        ],
      },
    ],
    want: { a: -0.111111, b: -30, c: -30 },
  },
  {
    name: 'an even spread of nothing',
    used: { a: 0, b: 0 },
    spreads: [{ targets: null }],
    want: { a: 0, b: 0 },
  },
  {
    name: 'an even spread draws to what has none',
    used: { a: 2, b: 0 },
    spreads: [{ targets: null }],
    want: { a: -1, b: 1 },
  },
  {
    name: 'an even spread draws to what has fewest',
    used: { a: 1, b: 3, c: 0 },
    spreads: [{ targets: null }],
    want: { a: 2, b: -2, c: 1 },
  },
  {
    name: 'an even spread that is even',
    used: { a: 2, b: 2 },
    spreads: [{ targets: null }],
    want: { a: -1, b: -1 },
  },
  {
    name: 'a node without the attribute',
    used: { a: 0, none: 0 },
    spreads: [{ targets: null }],
    want: { a: 0, none: -1 },
  },
  {
    name: 'spreads count by their weights',
    used: { a: 0, b: 0 },
    spreads: [
      { targets: seventyThirty, weight: 75 },
      { targets: [{ Value: 'b', Percent: 100 }], weight: 25 },
    ],
    want: { a: -0.357143, b: 0.725 },
  },
]
for (const { name, used, spreads, want } of cases)
  test(`spread: ${name}`, () => {
    assert.deepEqual(boosts(used, spreads), want)
  })

test('spread: stopped allocations and other groups do not count', () => {
  const [group] = aJob({
    groups: [aGroup({ Spreads: [{ Attribute: '${meta.rack}' }] })],
  }).TaskGroups
  assert.ok(group)
  const node = aNode({ Meta: { rack: 'a' } })
  const spreads = new SpreadScorer({
    spreads: group.Spreads ?? [],
    group,
    table: new NodeTable([node]),
    findNode: () => node,
  })
  spreads.apply({ nodeId: node.ID, group: 'another', delta: 1 })
  assert.deepEqual([...spreads.bucketScores()], [0])
  spreads.apply({ nodeId: node.ID, group: group.Name, delta: 1 })
  assert.deepEqual([...spreads.bucketScores()], [-1])
  spreads.apply({ nodeId: node.ID, group: group.Name, delta: -1 })
  assert.deepEqual([...spreads.bucketScores()], [0])
})
