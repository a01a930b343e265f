import assert from 'node:assert/strict'
import test from 'node:test'
import type { DiffType, FieldDiff, Input, Job, ObjectDiff } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/index.ts'
import { annotateDiff, diffJobs } from './diff-jobs.ts'
import { compareFields, compareObjects } from './compare.ts'

/*
 * Objects are sorted by name, then type (Edited, Added, Deleted, None), then size and content;
 * fields by name, old and new value; groups and tasks by name.
 */

function field(Name: string, Old = '', New = ''): FieldDiff {
  return { Type: 'Edited', Name, Old, New, Annotations: null }
}

function object(
  Name: string,
  Type: DiffType,
  { Fields = null, Objects = null }: Partial<Pick<ObjectDiff, 'Fields' | 'Objects'>> = {},
): ObjectDiff {
  return { Type, Name, Fields, Objects }
}

const fieldOrders: readonly { name: string; order: readonly FieldDiff[] }[] = [
  { name: 'their name', order: [field('CPU'), field('Cores'), field('MemoryMB')] },
  {
    name: 'their name before what happened to them',
    order: [{ ...field('a'), Type: 'None' }, field('b')],
  },
  { name: 'their name by code unit', order: [field('B'), field('_'), field('a'), field('é')] },
  { name: 'the old value of one name', order: [field('Args', '', 'z'), field('Args', 'a', '')] },
  { name: 'values as texts', order: [field('Args', '10'), field('Args', '9')] },
  { name: 'the new value last', order: [field('Args', 'a', 'b'), field('Args', 'a', 'c')] },
]
for (const { name, order } of fieldOrders)
  test(`diff order: fields are sorted by ${name}`, () => {
    assert.deepEqual(order.toReversed().toSorted(compareFields), order)
  })

const objectOrders: readonly { name: string; order: readonly ObjectDiff[] }[] = [
  {
    name: 'their name, whatever happened to them',
    order: [
      object('Affinity', 'None'),
      object('Constraint', 'Deleted'),
      object('Spread', 'Edited'),
    ],
  },
  {
    name: 'what happened to those of one name',
    order: [
      object('Service', 'Edited'),
      object('Service', 'Added'),
      object('Service', 'Deleted'),
      object('Service', 'None'),
    ],
  },
  {
    name: 'the number of their fields before their content',
    order: [
      object('Template', 'Added'),
      object('Template', 'Added', { Fields: [field('z')] }),
      object('Template', 'Added', { Fields: [field('a'), field('b')] }),
    ],
  },
  {
    name: 'their fields',
    order: [
      object('Constraint', 'Added', { Fields: [field('LTarget', '', 'a'), field('z')] }),
      object('Constraint', 'Added', { Fields: [field('LTarget', '', 'b'), field('a')] }),
    ],
  },
  {
    name: 'the number of their objects, then by these',
    order: [
      object('Service', 'Edited'),
      object('Service', 'Edited', { Objects: [object('Check', 'Added')] }),
      object('Service', 'Edited', { Objects: [object('Check', 'Deleted')] }),
      object('Service', 'Edited', { Objects: [object('A', 'None'), object('B', 'None')] }),
    ],
  },
]
for (const { name, order } of objectOrders)
  test(`diff order: objects are sorted by ${name}`, () => {
    assert.deepEqual(order.toReversed().toSorted(compareObjects), order)
  })

// The whole diff of a plan

const before = aJob({
  Priority: 50,
  Datacenters: ['b', 'gone'],
  Meta: { kept: 'x', old: 'y' },
  Constraints: [
    { LTarget: '${attr.z}', RTarget: '1', Operand: '=' },
    { LTarget: '${attr.gone}', RTarget: '1', Operand: '=' },
  ],
  groups: [
    aGroup({ Name: 'web', Count: 3, tasks: [aTask({ Name: 'b' }), aTask({ Name: 'a' })] }),
    aGroup({ Name: 'gone', tasks: [aTask({ Name: 't' })] }),
    aGroup({ Name: 'same', tasks: [aTask({ Name: 't' })] }),
  ],
})
const change: Input<Job> = {
  Priority: 60,
  AllAtOnce: true,
  Datacenters: ['new', 'b'],
  Meta: { new: 'z', kept: 'x' },
  Constraints: [
    { LTarget: '${attr.new}', RTarget: '1', Operand: '=' },
    { LTarget: '${attr.z}', RTarget: '1', Operand: '=' },
  ],
}
const after = aJob({
  ...change,
  groups: [
    aGroup({
      Name: 'web',
      Count: 2,
      tasks: [
        aTask({ Name: 'c' }),
        aTask({ Name: 'b', KillTimeout: 9_000_000_000 }),
        aTask({ Name: 'a', Driver: 'other' }),
      ],
    }),
    aGroup({ Name: 'same', tasks: [aTask({ Name: 't' })] }),
    aGroup({ Name: 'fresh', tasks: [aTask({ Name: 't' })] }),
  ],
})
const counts = {
  Ignore: 1,
  Place: 0,
  Migrate: 0,
  Stop: 1,
  InPlaceUpdate: 0,
  DestructiveUpdate: 2,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
}
const diff = annotateDiff(diffJobs(before, after, { contextual: true }), {
  desiredUpdates: { web: counts },
})

test('diff order: changed job fields by name', () => {
  assert.deepEqual(
    diff.Fields?.map(({ Type, Name, Old, New }) => [Type, Name, Old, New]),
    [
      ['Edited', 'AllAtOnce', 'false', 'true'],
      ['Added', 'Meta[new]', '', 'z'],
      ['Deleted', 'Meta[old]', 'y', ''],
      ['Edited', 'Priority', '50', '60'],
    ],
  )
})

test('diff order: job objects by name, added before deleted', () => {
  assert.deepEqual(
    diff.Objects?.map(({ Type, Name, Fields }) => [
      Type,
      Name,
      Fields?.map((one) => [one.Type, one.Name, one.Old, one.New]),
    ]),
    [
      [
        'Added',
        'Constraint',
        [
          ['Added', 'LTarget', '', '${attr.new}'],
          ['Added', 'Operand', '', '='],
          ['Added', 'RTarget', '', '1'],
        ],
      ],
      [
        'Deleted',
        'Constraint',
        [
          ['Deleted', 'LTarget', '${attr.gone}', ''],
          ['Deleted', 'Operand', '=', ''],
          ['Deleted', 'RTarget', '1', ''],
        ],
      ],
      [
        'Edited',
        'Datacenters',
        [
          ['Added', 'Datacenters', '', 'new'],
          ['None', 'Datacenters', 'b', 'b'],
          ['Deleted', 'Datacenters', 'gone', ''],
        ],
      ],
    ],
  )
})

test('diff order: groups and tasks by name with annotations', () => {
  assert.deepEqual(
    diff.TaskGroups?.map(({ Type, Name, Updates, Fields, Tasks }) => ({
      group: [Type, Name, Updates],
      count: Fields?.filter((one) => one.Name === 'Count').map((one) => one.Annotations),
      tasks: Tasks?.map((task) => [task.Type, task.Name, task.Annotations]),
    })),
    [
      {
        group: ['Added', 'fresh', null],
        count: [['forces create']],
        tasks: [['Added', 't', ['forces create']]],
      },
      {
        group: ['Deleted', 'gone', null],
        count: [['forces destroy']],
        tasks: [['Deleted', 't', ['forces destroy']]],
      },
      { group: ['None', 'same', null], count: undefined, tasks: [['None', 't', null]] },
      {
        group: ['Edited', 'web', { ignore: 1, destroy: 1, 'create/destroy update': 2 }],
        count: [['forces destroy']],
        tasks: [
          ['Edited', 'a', ['forces create/destroy update']],
          ['Edited', 'b', ['forces in-place update']],
          ['Added', 'c', ['forces create/destroy update']],
        ],
      },
    ],
  )
})
