import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlacementMetrics } from '@reeve/contract'
import { placementFailureLines } from './scheduling.ts'

const METRICS: PlacementMetrics = {
  NodesEvaluated: 3,
  NodesFiltered: 0,
  NodesInPool: 4,
  NodePool: 'default',
  NodesAvailable: {},
  ClassFiltered: null,
  ConstraintFiltered: null,
  NodesExhausted: 0,
  ClassExhausted: null,
  DimensionExhausted: null,
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 1,
}

const CASES = [
  { name: 'how many were looked at', given: {}, words: /^2 could not be placed: 3 of 4 nodes/ },
  {
    name: 'a rule that refused',
    given: { ConstraintFiltered: { '${attr.kernel.name} = windows': 2 } },
    words: /windows \(2 nodes\)$/,
  },
  {
    name: 'what ran out',
    given: { DimensionExhausted: { memory: 1 } },
    words: /memory \(1 node\)$/,
  },
  { name: 'a quota', given: { QuotaExhausted: ['prod cpu'] }, words: /quota is used up: prod cpu/ },
  { name: 'no node at all', given: { NodesEvaluated: 0 }, words: /no node is ready in pool/ },
]
for (const { name, given, words } of CASES)
  test(`the words tell ${name}`, () =>
    assert.ok(placementFailureLines({ ...METRICS, ...given }).some((line) => words.test(line))))
