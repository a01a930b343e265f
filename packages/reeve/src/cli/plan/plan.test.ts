import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import type {
  DesiredUpdates,
  Explanation,
  JobDiff,
  JobPolicyOutcome,
  PlacementMetrics,
} from '@reeve/contract'
import { Flags } from '../flags.ts'
import { noPaint } from '../output/color.ts'
import { formatDiff, formatUpdates, hasUpdates } from './plan-text.ts'
import { formatExplanation, formatPlacementFailure } from './placement-failures.ts'
import { jobFileArgs, suggestCommand } from './suggest-command.ts'
import { shellLine } from '@reeve/kit/shell-words.ts'
import { isDenied, formatPolicyResults } from '../governance/policy-results.ts'

const EDITED: JobDiff = {
  Type: 'Edited',
  ID: 'web',
  Fields: [
    { Type: 'Edited', Name: 'Priority', Old: '50', New: '70', Annotations: null },
    { Type: 'None', Name: 'Region', Old: 'global', New: 'global', Annotations: null },
  ],
  Objects: [
    {
      Type: 'Added',
      Name: 'Periodic',
      Fields: [{ Type: 'Added', Name: 'Spec', Old: '', New: '@daily', Annotations: null }],
      Objects: null,
    },
  ],
  TaskGroups: [
    {
      Type: 'Edited',
      Name: 'app',
      Fields: [
        {
          Type: 'Edited',
          Name: 'KillTimeout',
          Old: '5000000000',
          New: '90000000000',
          Annotations: null,
        },
      ],
      Objects: null,
      Updates: { create: 1, ignore: 0 },
      Tasks: [
        {
          Type: 'Added',
          Name: 'side',
          Fields: [{ Type: 'Added', Name: 'Driver', Old: '', New: 'exec', Annotations: null }],
          Objects: null,
          Annotations: ['forces create'],
        },
        { Type: 'None', Name: 'main', Fields: null, Objects: null, Annotations: null },
      ],
    },
    { Type: 'None', Name: 'quiet', Fields: null, Objects: null, Tasks: null, Updates: null },
  ],
}

test('diffText: only what changes is shown, durations as people write them', () => {
  assert.equal(
    formatDiff(EDITED, { paint: noPaint, isVerbose: false }),
    [
      '+/- Job: "web"',
      '+/-   Priority: "50" => "70"',
      '+     Periodic',
      '+       Spec: "@daily"',
      '+/-   Group: "app" (1 create)',
      '+/-     KillTimeout: "5s" => "1m30s"',
      '+       Task: "side" (forces create)',
      '',
    ].join('\n'),
  )
})

test('diffText: of what is new, the fields are shown when asked for', () => {
  const text = formatDiff(EDITED, { paint: noPaint, isVerbose: true })
  assert.match(text, /\n\+ {7}Task: "side" \(forces create\)\n\+ {9}Driver: "exec"\n/)
})

const NONE = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
}

function updatesOf(updates: DesiredUpdates, unplaced = 0): string {
  return formatUpdates('app', updates, { paint: noPaint, unplaced }).join('\n')
}

test('updatesText: lists the changes of allocations, unchanged ones last', () => {
  const updates = { ...NONE, Ignore: 2, Place: 1, Stop: 3 }
  assert.equal(updatesOf(updates), 'Group "app": 1 started, 3 stopped, 2 unchanged.')
  assert.equal(updatesOf(NONE), 'Group "app": nothing to do.')
  assert.deepEqual([hasUpdates(updates), hasUpdates({ ...NONE, Ignore: 2 })], [true, false])
})

const unplacedCases = [
  { name: 'those with a place are left', updates: { Place: 3 }, unplaced: 2, says: '1 started' },
  { name: 'none has a place', updates: { Place: 1 }, unplaced: 1, says: undefined },
  {
    name: 'a replacement has no place',
    updates: { DestructiveUpdate: 2 },
    unplaced: 2,
    says: undefined,
  },
  {
    name: 'what is started again is one of those that are started',
    updates: { Place: 1, RescheduleNow: 1, Ignore: 1 },
    unplaced: 1,
    says: '1 unchanged',
  },
]

for (const { name, updates, unplaced, says } of unplacedCases)
  test(`updatesText: what has no place is not counted: ${name}`, () => {
    const wanted = says === undefined ? '' : `Group "app": ${says}.`
    assert.equal(updatesOf({ ...NONE, ...updates }, unplaced), wanted)
  })

const METRICS: PlacementMetrics = {
  NodesEvaluated: 3,
  NodesFiltered: 1,
  NodesInPool: 3,
  NodePool: 'default',
  NodesAvailable: { dc1: 3 },
  ClassFiltered: null,
  ConstraintFiltered: { '${attr.kernel.name} = windows': 1 },
  NodesExhausted: 2,
  ClassExhausted: null,
  DimensionExhausted: { memory: 2 },
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 1,
}

test('metricsText: names each reason and how many nodes it concerns', () => {
  assert.equal(
    formatPlacementFailure('app', METRICS, noPaint),
    [
      'Group "app": 2 allocations could not be placed.',
      '  * not met: ${attr.kernel.name} = windows (1 node)',
      '  * not enough: memory (2 nodes)',
    ].join('\n'),
  )
  const empty = { ...METRICS, NodesInPool: 0, NodesEvaluated: 0, CoalescedFailures: 0 }
  assert.equal(
    formatPlacementFailure('app', empty, noPaint),
    'Group "app": 1 allocation could not be placed.\n' +
      '  * no node is ready in pool "default" and the datacenters of the job; there are nodes in dc1 (3 nodes)',
  )
})

test('metricsText: each node is listed once, by reason, otherwise by class', () => {
  const gpu = { ClassFiltered: { gpu: 1 }, ClassExhausted: { gpu: 2 } }
  const unexplained = { ConstraintFiltered: null, DimensionExhausted: null }
  const lines = (metrics: PlacementMetrics) =>
    formatPlacementFailure('app', metrics, noPaint).split('\n').slice(1)
  assert.deepEqual(lines({ ...METRICS, ...gpu }), lines(METRICS))
  assert.deepEqual(lines({ ...METRICS, ...gpu, ...unexplained }), [
    '  * node class "gpu" is refused (1 node)',
    '  * node class "gpu" is full (2 nodes)',
  ])
})

const OUTCOME: JobPolicyOutcome = {
  PolicySet: 'limits',
  PolicySetID: 'polset-1',
  Policy: 'small',
  PolicyID: 'pol-1',
  Level: 'soft-mandatory',
  Status: 'failed',
  Effect: 'denies',
  Overridable: true,
  Description: null,
  Findings: [
    { Rule: 'main', Line: 3, Column: 5, Message: 'too much memory' },
    { Rule: 'own', File: 'groups.native', Line: 9, Column: 1, Message: 'not its own' },
    { Rule: null, Line: null, Column: null, Message: 'no owner' },
  ],
  FindingsOmitted: 2,
}

test('verdictsText: those that object come first, with their findings', () => {
  const passing: JobPolicyOutcome = {
    ...OUTCOME,
    Policy: 'names',
    Status: 'passed',
    Effect: 'passes',
  }
  const skipped: JobPolicyOutcome = {
    ...passing,
    Policy: 'plans',
    Skipped: 'it is about a plan',
    Findings: [],
    FindingsOmitted: 0,
  }
  assert.equal(
    formatPolicyResults([passing, skipped, OUTCOME], noPaint),
    [
      'Policy "small" of set "limits" (soft-mandatory) denies it.',
      '  * main: too much memory (line 3, column 5)',
      '  * own: not its own (groups.native, line 9, column 1)',
      '  * no owner',
      '  * and 2 more',
      'Policy "names" of set "limits" (soft-mandatory) passes.',
      'Policy "plans" of set "limits" (soft-mandatory) was not asked: it is about a plan.',
    ].join('\n'),
  )
  assert.deepEqual(
    [isDenied([passing]), isDenied([passing, OUTCOME]), isDenied(null)],
    [false, true, false],
  )
})

test('explanationText: names the rules that reject an allocation and a remedy', () => {
  const reason = { Text: 'memory: 500 MB are asked for, 300 MB are free' }
  const group = {
    TaskGroup: 'app',
    Desired: 3,
    Placed: 1,
    Unplaced: 2,
    Instances: [
      { State: 'refused', Text: 'no node takes it' },
      { State: 'delayed', Text: 'it waits for 30s' },
    ],
    Refusals: [{ NodeCount: 5, Nodes: [{ ID: '1', Name: 'one' }], Reasons: [reason] }],
    RefusalsOmitted: 1,
    Changes: [{ Text: 'lower the memory to 300 MB' }],
  }
  // The code under test reads no other field.
  const explanation = {
    Text: '2 instances are not placed',
    Groups: [group],
    GroupsOmitted: 0,
  } as unknown as Explanation
  assert.equal(
    formatExplanation(explanation, noPaint),
    [
      '2 instances are not placed',
      '',
      'Group "app": 1 of 3 placed, 2 not.',
      '  * it waits for 30s',
      '  Rejected by:',
      '    5 nodes (one, …):',
      '      - memory: 500 MB are asked for, 300 MB are free',
      '  … and 1 more refusal',
      '  Would be placed with:',
      '    * lower the memory to 300 MB',
      '',
    ].join('\n'),
  )
})

test('shellLine: a shell reads back the same arguments', () => {
  const args = ['plain', 'a b', "it's", '$HOME', '', '*', 'k=v', '"', '\\', 'new\nline']
  const { stdout } = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${shellLine(args)}`], {
    encoding: 'utf8',
  })
  assert.deepEqual(stdout.split('\0').slice(0, -1), args)
})

test('nextCommand: reaches the same server and namespace, and reads the file in the same way', () => {
  const environment = { REEVE_NAMESPACE: 'prod' }
  const host = { environment }
  const flags = new Flags({ address: 'http://a:1', token: 'secret', var: ['x=a b'], hcl1: true })
  const words = jobFileArgs({ args: ['web.hcl'], flags })
  assert.equal(
    suggestCommand({ flags, host }, ['job', 'run', ...words], 'dev'),
    `reeve job run --hcl1 --var 'x=a b' web.hcl --address http://a:1 --namespace dev`,
  )
  assert.equal(
    suggestCommand({ flags: new Flags({}), host }, ['job', 'status'], 'prod'),
    'reeve job status',
  )
})
