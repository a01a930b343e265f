import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { diff, jobLines, linesOf, taskLines, type Line } from '../../../test/build/diff-lines.ts'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { LIMITS } from '../limits.ts'

// The job

test('diff: equal jobs have no changes', () => {
  assert.deepEqual(diff(aJob(), aJob(), true), {
    Type: 'None',
    ID: 'web',
    Fields: null,
    Objects: null,
    TaskGroups: [
      {
        Type: 'None',
        Name: 'app',
        Fields: null,
        Objects: null,
        Tasks: [{ Type: 'None', Name: 'main', Fields: null, Objects: null, Annotations: null }],
        Updates: null,
      },
    ],
  })
})

test('diff: two absent jobs', () => {
  assert.deepEqual(diff(undefined, undefined), {
    Type: 'None',
    ID: '',
    Fields: null,
    Objects: null,
    TaskGroups: null,
  })
})

test('diff: added job lists all values', () => {
  const { Type, ID, TaskGroups, ...parts } = diff(undefined, aJob())
  assert.deepEqual([Type, ID], ['Added', 'web'])
  assert.deepEqual(linesOf(parts), [
    '+AllAtOnce >false',
    '+Dispatched >false',
    '+Name >web',
    '+Namespace >default',
    '+NodePool >default',
    '+Priority >50',
    '+Region >global',
    '+Stop >false',
    '+Type >service',
    ['+Datacenters', '+Datacenters >*'],
  ])
  const [group] = TaskGroups ?? []
  assert.deepEqual([group?.Type, group?.Tasks?.[0]?.Type], ['Added', 'Added'])
})

test('diff: deleted job lists all values', () => {
  const { Type, TaskGroups, ...parts } = diff(aJob(), undefined)
  assert.equal(Type, 'Deleted')
  assert.equal(linesOf(parts)[0], '-AllAtOnce false>')
  assert.equal(TaskGroups?.[0]?.Tasks?.[0]?.Type, 'Deleted')
})

test('diff: server fields are ignored', () => {
  const written: Partial<Job> = {
    Status: 'dead',
    StatusDescription: 'x',
    Stable: true,
    Version: 7,
    VersionTag: { Name: 't', Description: '', TaggedTime: 1 },
    SubmitTime: 1,
    ServiceTokenID: 'me',
    CreateIndex: 1,
    ModifyIndex: 2,
    JobModifyIndex: 3,
  }
  assert.equal(diff(aJob(), { ...aJob(), ...written }).Type, 'None')
})

test('diff: jobs with different IDs are rejected', () => {
  assert.throws(() => diff(aJob({ ID: 'a' }), aJob({ ID: 'b' })), /versions of one job/)
})

const JOB_CASES: readonly [string, Input<Job>, Input<Job>, readonly Line[]][] = [
  ['a value that changed', { Priority: 50 }, { Priority: 60 }, ['~Priority 50>60']],
  ['a stop', {}, { Stop: true }, ['~Stop false>true']],
  ['flags', { AllAtOnce: true }, {}, ['~AllAtOnce true>false']],
  [
    'entries of a map, each by its key',
    { Meta: { a: '1', b: '2', c: '3' } },
    { Meta: { a: '1', b: '4', d: '5' } },
    ['~Meta[b] 2>4', '-Meta[c] 3>', '+Meta[d] >5'],
  ],
  ['an entry that came without a value', {}, { Meta: { a: '' } }, ['+Meta[a] >']],
  [
    'a set of texts by its members',
    { Datacenters: ['a', 'b'] },
    { Datacenters: ['c', 'a'] },
    [['~Datacenters', '+Datacenters >c', '-Datacenters b>']],
  ],
  ['not the order of a set', { Datacenters: ['a', 'b'] }, { Datacenters: ['b', 'a'] }, []],
  [
    'a constraint with another text as another constraint',
    {
      Constraints: [
        { LTarget: 'x', RTarget: '1' },
        { LTarget: 'y', RTarget: '1' },
      ],
    },
    {
      Constraints: [
        { LTarget: 'y', RTarget: '1' },
        { LTarget: 'x', RTarget: '2' },
      ],
    },
    [
      ['+Constraint', '+LTarget >x', '+Operand >=', '+RTarget >2'],
      ['-Constraint', '-LTarget x>', '-Operand =>', '-RTarget 1>'],
    ],
  ],
  [
    'a second constraint of the same text',
    { Constraints: [{ LTarget: 'x', RTarget: '1' }] },
    {
      Constraints: [
        { LTarget: 'x', RTarget: '1' },
        { LTarget: 'x', RTarget: '1' },
      ],
    },
    [['+Constraint', '+LTarget >x', '+Operand >=', '+RTarget >1']],
  ],
  [
    'an affinity',
    {},
    { Affinities: [{ LTarget: 'x', RTarget: '1', Weight: -3 }] },
    [['+Affinity', '+LTarget >x', '+Operand >=', '+RTarget >1', '+Weight >-3']],
  ],
  [
    'a spread by its attribute, and its targets by their value',
    { Spreads: [{ Attribute: 'dc', SpreadTarget: [{ Value: 'a', Percent: 50 }] }] },
    {
      Spreads: [
        {
          Attribute: 'dc',
          Weight: 60,
          SpreadTarget: [{ Value: 'a', Percent: 70 }, { Value: 'b' }],
        },
      ],
    },
    [
      [
        '~Spread',
        '~Weight 50>60',
        ['~SpreadTarget', '~Percent 50>70'],
        ['+SpreadTarget', '+Percent >0', '+Value >b'],
      ],
    ],
  ],
  [
    'periodic launches',
    { Type: 'batch', Periodic: { Spec: '1 * * * *', Specs: ['a', 'b'] } },
    { Type: 'batch', Periodic: { Spec: '2 * * * *', Specs: ['b'], ProhibitOverlap: true } },
    [
      [
        '~Periodic',
        '~ProhibitOverlap false>true',
        '~Spec 1 * * * *>2 * * * *',
        ['~Specs', '-Specs a>'],
      ],
    ],
  ],
  [
    'what a dispatch brings',
    { Type: 'batch', ParameterizedJob: { Payload: 'optional', MetaRequired: ['a'] } },
    { Type: 'batch', ParameterizedJob: { Payload: 'required', MetaOptional: ['a'] } },
    [
      [
        '~ParameterizedJob',
        '~Payload optional>required',
        ['+MetaOptional', '+MetaOptional >a'],
        ['-MetaRequired', '-MetaRequired a>'],
      ],
    ],
  ],
  [
    'regions',
    { Multiregion: { Strategy: { MaxParallel: 1 }, Regions: [{ Name: 'a', Count: 1 }] } },
    {
      Multiregion: {
        Strategy: { MaxParallel: 2 },
        Regions: [{ Name: 'a', Count: 3, Datacenters: ['x'], Meta: { k: 'v' } }],
      },
    },
    [
      [
        '~Multiregion',
        ['~Region', '~Count 1>3', '+Meta[k] >v', ['+Datacenters', '+Datacenters >x']],
        ['~Strategy', '~MaxParallel 1>2'],
      ],
    ],
  ],
  [
    'what the web pages show',
    { UI: { Description: 'a', Links: [{ Label: 'x', URL: '1' }] } },
    { UI: { Description: 'b', Links: [{ Label: 'x', URL: '2' }] } },
    [['~UI', '~Description a>b', ['~Link', '~URL 1>2']]],
  ],
]

for (const [name, before, after, lines] of JOB_CASES)
  test(`diff of a job: shows ${name}`, () => assert.deepEqual(jobLines(before, after), lines))

// The context

test('diff with context: changed objects list unchanged fields', () => {
  const before: Input<Job> = { Priority: 1, Datacenters: ['a', 'b'], Meta: { x: 'y' } }
  const after: Input<Job> = { Priority: 1, Datacenters: ['b', 'c'], Meta: { x: 'y' } }
  assert.deepEqual(jobLines(before, after, true), [
    ['~Datacenters', '+Datacenters >c', '-Datacenters a>', ' Datacenters b>b'],
  ])
  assert.deepEqual(
    taskLines({ Config: { a: 1, b: ['x'] } }, { Config: { a: 2, b: ['x'] } }, true),
    [['~Config', '~a 1>2', ' b[0] x>x']],
  )
})

test('diff with context: empty fields of an added object are unchanged', () => {
  const lines = taskLines({}, { Lifecycle: { Hook: '', Sidecar: true } }, true)
  assert.deepEqual(lines, [['+Lifecycle', ' Hook >', '+Sidecar >true']])
})

// Groups and tasks

test('diff: groups and tasks are matched and sorted by name', () => {
  const before = aJob({ groups: [aGroup({ Name: 'c' }), aGroup({ Name: 'a' })] })
  const after = aJob({ groups: [aGroup({ Name: 'b' }), aGroup({ Name: 'c', Count: 2 })] })
  const { Type, TaskGroups } = diff(before, after)
  assert.equal(Type, 'Edited')
  assert.deepEqual(
    TaskGroups?.map((group) => [group.Name, group.Type]),
    [
      ['a', 'Deleted'],
      ['b', 'Added'],
      ['c', 'Edited'],
    ],
  )
})

test('diff: nested task change marks group and job', () => {
  const job = (User: string): Job => aJob({ groups: [aGroup({ tasks: [aTask({ User })] })] })
  const { Type, TaskGroups } = diff(job('a'), job('b'))
  const [group] = TaskGroups ?? []
  assert.deepEqual(
    [Type, group?.Type, group?.Fields, group?.Tasks?.[0]?.Type],
    ['Edited', 'Edited', null, 'Edited'],
  )
})

// Jobs with unusual content

const MANY = LIMITS.diffValuesMax

test('diff: large string set is one value', () => {
  const job = (first: string): Job =>
    aJob({ Datacenters: Array.from({ length: MANY }, (_none, i) => `${first}${i}`) })
  const [object] = diff(job('a'), job('b')).Objects ?? []
  assert.deepEqual(
    [object?.Name, object?.Type, object?.Fields?.length],
    ['Datacenters', 'Edited', 1],
  )
  assert.match(object?.Fields?.[0]?.Old ?? '', /^\["a0","a1",/)
})

test('diff: large structure is one value', () => {
  const key = 'k'.repeat(10_000)
  for (const [Config, Other] of [
    [{ a: Array.from({ length: MANY }, () => 1) }, { a: [1] }],
    [{ [key]: Array.from({ length: 1000 }, () => 1) }, { [key]: [1] }],
  ] as const) {
    const [lines] = taskLines({ Config }, { Config: Other })
    assert.deepEqual([lines?.[0], lines?.length], ['~Config', 2])
    assert.match(String(lines?.[1]), /^~Config \{/)
  }
})

test('diff: large map is one value', () => {
  const meta = (value: string) =>
    Object.fromEntries(Array.from({ length: MANY }, (_none, i) => [`k${i}`, value]))
  const [line] = jobLines({ Meta: meta('a') }, { Meta: meta('b') })
  assert.match(String(line), /^~Meta \{"k0":"a"/)
})

test('diff: tasks beyond the limit are listed by name', () => {
  const tasks = (User: string) =>
    Array.from({ length: MANY / 25 }, (_none, i) => aTask({ Name: `t${i}`, User }))
  const [group] =
    diff(
      aJob({ groups: [aGroup({ tasks: tasks('a') })] }),
      aJob({ groups: [aGroup({ tasks: tasks('b') })] }),
    ).TaskGroups ?? []
  const told = group?.Tasks?.filter((task) => task.Fields !== null) ?? []
  assert.ok(group?.Tasks?.every((task) => task.Type === 'Edited'))
  assert.ok(told.length > 1000 && told.length < MANY / 25, `${told.length}`)
})
