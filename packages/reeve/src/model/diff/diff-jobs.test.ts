import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, JobDiff, ObjectDiff, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { LIMITS } from '../limits.ts'
import { diffJobs } from './diff-jobs.ts'

/**
 * A change in a line: `~` edited, `+` added, `-` deleted, a blank unchanged. What an object holds
 * follows its name.
 */
type Line = string | readonly [string, ...Line[]]

const SIGN = { Edited: '~', Added: '+', Deleted: '-', None: ' ' } as const

function linesOf(parts: Pick<ObjectDiff, 'Fields' | 'Objects'>): readonly Line[] {
  return [
    ...(parts.Fields ?? []).map(
      (field) => `${SIGN[field.Type]}${field.Name} ${field.Old}>${field.New}`,
    ),
    ...(parts.Objects ?? []).map((one): Line => [`${SIGN[one.Type]}${one.Name}`, ...linesOf(one)]),
  ]
}

function diff(before: Job | undefined, after: Job | undefined, contextual = false): JobDiff {
  return diffJobs(before, after, { contextual })
}

function jobLines(before: Input<Job>, after: Input<Job>, contextual = false): readonly Line[] {
  return linesOf(diff(aJob(before), aJob(after), contextual))
}

function groupLines(before: Input<TaskGroup>, after: Input<TaskGroup>): readonly Line[] {
  const [group] =
    diff(aJob({ groups: [aGroup(before)] }), aJob({ groups: [aGroup(after)] })).TaskGroups ?? []
  assert.ok(group !== undefined)
  return linesOf(group)
}

function taskLines(before: Input<Task>, after: Input<Task>, contextual = false): readonly Line[] {
  const job = (task: Input<Task>): Job => aJob({ groups: [aGroup({ tasks: [aTask(task)] })] })
  const [task] = diff(job(before), job(after), contextual).TaskGroups?.[0]?.Tasks ?? []
  assert.ok(task !== undefined)
  return linesOf(task)
}

// The job

test('diff: the same job has none, and its groups and tasks say so', () => {
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

test('diff: no job at all is nothing', () => {
  assert.deepEqual(diff(undefined, undefined), {
    Type: 'None',
    ID: '',
    Fields: null,
    Objects: null,
    TaskGroups: null,
  })
})

test('diff: a new job is added with everything that has a value', () => {
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

test('diff: a job that goes is deleted with everything that had a value', () => {
  const { Type, TaskGroups, ...parts } = diff(aJob(), undefined)
  assert.equal(Type, 'Deleted')
  assert.equal(linesOf(parts)[0], '-AllAtOnce false>')
  assert.equal(TaskGroups?.[0]?.Tasks?.[0]?.Type, 'Deleted')
})

test('diff: what servers write about a job is no change', () => {
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

test('diff: two jobs of other ids are not compared', () => {
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

test('diff with context: what changed shows its other fields too, what did not is left out', () => {
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

test('diff with context: an added object shows its fields without a value as unchanged', () => {
  const lines = taskLines({}, { Lifecycle: { Hook: '', Sidecar: true } }, true)
  assert.deepEqual(lines, [['+Lifecycle', ' Hook >', '+Sidecar >true']])
})

// Groups and tasks

test('diff: groups and tasks are paired and sorted by their name', () => {
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

test('diff: a change deep in a task is a change of its group and its job', () => {
  const job = (User: string): Job => aJob({ groups: [aGroup({ tasks: [aTask({ User })] })] })
  const { Type, TaskGroups } = diff(job('a'), job('b'))
  const [group] = TaskGroups ?? []
  assert.deepEqual(
    [Type, group?.Type, group?.Fields, group?.Tasks?.[0]?.Type],
    ['Edited', 'Edited', null, 'Edited'],
  )
})

const SECOND = 1_000_000_000

const GROUP_CASES: readonly [string, Input<TaskGroup>, Input<TaskGroup>, readonly Line[]][] = [
  ['the count', { Count: 1 }, { Count: 3 }, ['~Count 1>3']],
  [
    'times in nanoseconds, also those that are not always there',
    { ShutdownDelay: SECOND },
    { MaxRunDuration: 0 },
    ['+MaxRunDuration >0', '-ShutdownDelay 1000000000>'],
  ],
  [
    'the update without its stagger',
    { Update: { Stagger: SECOND, Canary: 1 } },
    { Update: { Stagger: 2 * SECOND, Canary: 2 } },
    [['~Update', '~Canary 1>2']],
  ],
  ['not the stagger alone', { Update: { Stagger: 1 } }, { Update: { Stagger: 2 } }, []],
  [
    'policies',
    {},
    {
      Migrate: { MaxParallel: 2 },
      EphemeralDisk: { SizeMB: 1 },
      ReschedulePolicy: { Attempts: 3, Unlimited: false },
      Disconnect: { LostAfter: SECOND, Replace: false },
    },
    [
      ['+Disconnect', '+LostAfter >1000000000', '+Reconcile >best_score', '+Replace >false'],
      ['~EphemeralDisk', '~SizeMB 300>1'],
      ['~Migrate', '~MaxParallel 1>2'],
      ['~ReschedulePolicy', '~Attempts 0>3', '~Unlimited true>false'],
    ],
  ],
  [
    'a network with its ports by their label',
    {
      Networks: [
        {
          Mode: 'bridge',
          DNS: { Servers: ['a', 'b'] },
          ReservedPorts: [{ Label: 'http', Value: 80 }],
          DynamicPorts: [{ Label: 'db' }],
        },
      ],
    },
    {
      Networks: [
        {
          Mode: 'host',
          DNS: { Servers: ['b', 'a'] },
          ReservedPorts: [{ Label: 'http', Value: 81 }],
          CNI: { Args: { k: 'v' } },
        },
      ],
    },
    [
      [
        '~Network',
        '~Mode bridge>host',
        ['+CNI', '+Args[k] >v'],
        ['~DNS', ['~Servers', '~Servers a>b', '~Servers b>a']],
        [
          '-Dynamic Port',
          '-HostNetwork default>',
          '-IgnoreCollision false>',
          '-Label db>',
          '-To 0>',
        ],
        ['~Static Port', '~Value 80>81'],
      ],
    ],
  ],
  [
    'volumes by their name',
    { Volumes: { a: { Type: 'host', Source: 'x' } } },
    {
      Volumes: {
        a: { Type: 'host', Source: 'y', MountOptions: { FSType: 'ext4', MountFlags: ['ro'] } },
      },
    },
    [
      [
        '~Volume',
        '~Source x>y',
        ['+MountOptions', '+FSType >ext4', ['+MountFlags', '+MountFlags >ro']],
      ],
    ],
  ],
  [
    'the bounds of the count and what an autoscaler is told',
    { Scaling: { Min: 1, Max: 2, Policy: { a: { b: [1] } } } },
    { Scaling: { Min: 1, Max: 3, Policy: { a: { b: [2] } } } },
    [['~Scaling', '~Max 2>3', ['~Policy', '~a[b][0] 1>2']]],
  ],
  [
    'the place in an external catalogue',
    { Discovery: { Namespace: 'a' } },
    { Discovery: { Namespace: 'b' } },
    [['~Discovery', '~Namespace a>b']],
  ],
  [
    'a service by its name, its checks by theirs',
    {
      Services: [
        {
          Name: 's',
          PortLabel: 'a',
          Tags: ['t'],
          Meta: { k: '1' },
          Checks: [
            {
              Name: 'c',
              Type: 'http',
              Path: '/',
              Header: { X: ['1', '2'] },
              CheckRestart: { Limit: 1 },
            },
          ],
        },
      ],
    },
    {
      Services: [
        {
          Name: 's',
          PortLabel: 'b',
          Tags: ['u'],
          Meta: { k: '2' },
          Connect: { Native: true },
          Weights: { Passing: 1, Warning: 2 },
          Checks: [
            {
              Name: 'c',
              Type: 'http',
              Path: '/x',
              Header: { X: ['1', '3'] },
              CheckRestart: { Limit: 2 },
            },
          ],
        },
      ],
    },
    [
      [
        '~Service',
        '~Meta[k] 1>2',
        '~PortLabel a>b',
        ['~Check', '~Path />/x', ['~CheckRestart', '~Limit 1>2'], ['~Header', '~X[1] 2>3']],
        ['+Connect', '+Native >true'],
        ['~Tags', '+Tags >u', '-Tags t>'],
        ['+Weights', '+Passing >1', '+Warning >2'],
      ],
    ],
  ],
]

for (const [name, before, after, lines] of GROUP_CASES)
  test(`diff of a group: shows ${name}`, () => assert.deepEqual(groupLines(before, after), lines))

const TASK_CASES: readonly [string, Input<Task>, Input<Task>, readonly Line[]][] = [
  [
    'values and the environment',
    { User: 'a', Env: { A: '1' } },
    { User: '', Env: { A: '2' }, KillTimeout: SECOND, Leader: true },
    ['~Env[A] 1>2', '~KillTimeout 5000000000>1000000000', '~Leader false>true', '-User a>'],
  ],
  [
    'the settings of the driver by their path',
    { Config: { command: 'a', args: ['x'], labels: [{ k: 'v' }], gone: {} } },
    { Config: { command: 'b', args: ['x', 'y'], labels: [{ k: 'w' }], none: null } },
    [['~Config', '+args[1] >y', '~command a>b', '-gone {}>', '~labels[0][k] v>w', '+none >']],
  ],
  [
    'resources with devices and processors',
    { Resources: { CPU: 100, Devices: [{ Name: 'gpu', Count: 1 }] } },
    {
      Resources: {
        CPU: 200,
        Devices: [{ Name: 'gpu', Count: 2, Constraints: [{ LTarget: 'x', RTarget: '1' }] }],
        NUMA: { Affinity: 'require', Devices: ['gpu'] },
      },
    },
    [
      [
        '~Resources',
        '~CPU 100>200',
        ['~Device', '~Count 1>2', ['+Constraint', '+LTarget >x', '+Operand >=', '+RTarget >1']],
        ['+NUMA', '+Affinity >require', ['+Devices', '+Devices >gpu']],
      ],
    ],
  ],
  [
    'an artifact by its destination',
    { Artifacts: [{ GetterSource: 'a', RelativeDest: 'x/' }] },
    { Artifacts: [{ GetterSource: 'b', RelativeDest: 'x/', GetterOptions: { k: 'v' } }] },
    [['~Artifact', '+GetterOptions[k] >v', '~GetterSource a>b']],
  ],
  [
    'a template by its destination',
    { Templates: [{ DestPath: 'x', EmbeddedTmpl: 'a' }] },
    {
      Templates: [
        {
          DestPath: 'x',
          EmbeddedTmpl: 'b',
          Uid: 0,
          ChangeMode: 'script',
          ChangeScript: { Command: 'c', Args: ['1'] },
          Wait: { Min: 1 },
        },
      ],
    },
    [
      [
        '~Template',
        '~ChangeMode restart>script',
        '~EmbeddedTmpl a>b',
        '+Uid >0',
        [
          '+ChangeScript',
          '+Command >c',
          '+FailOnError >false',
          '+RunOnFirstRender >false',
          '+Timeout >5000000000',
          ['+Args', '+Args >1'],
        ],
        ['+Wait', '+Min >1'],
      ],
    ],
  ],
  [
    'mounts, hooks, logs and the payload',
    { VolumeMounts: [{ Volume: 'v', Destination: '/a' }], LogConfig: { MaxFiles: 1 } },
    {
      VolumeMounts: [{ Volume: 'v', Destination: '/a', ReadOnly: true }],
      LogConfig: { MaxFiles: 2 },
      Lifecycle: { Hook: 'prestart' },
      DispatchPayload: { File: 'f' },
    },
    [
      ['+DispatchPayload', '+File >f'],
      ['+Lifecycle', '+Hook >prestart', '+Sidecar >false'],
      ['~LogConfig', '~MaxFiles 1>2'],
      ['~VolumeMount', '~ReadOnly false>true'],
    ],
  ],
  [
    'secrets, actions and when it runs',
    {
      SecretStore: { Role: 'a', Policies: ['p'] },
      Secrets: [{ Name: 's', Path: 'a' }],
      Actions: [{ Name: 'x', Command: 'c', Args: ['1', '2'] }],
      Schedule: { Cron: { Start: 'a' } },
    },
    {
      SecretStore: { Role: 'b', Policies: ['q'] },
      Secrets: [{ Name: 's', Path: 'b', Config: { k: 1 }, Env: { E: 'f' } }],
      Actions: [{ Name: 'x', Command: 'c', Args: ['2', '1'] }],
      Schedule: { Cron: { Start: 'b' } },
    },
    [
      ['~Action', ['~Args', '~Args 1>2', '~Args 2>1']],
      ['~Schedule', ['~Cron', '~Start a>b']],
      ['~Secret', '+Env[E] >f', '~Path a>b', ['+Config', '+k >1']],
      ['~SecretStore', '~Role a>b', ['~Policies', '+Policies >q', '-Policies p>']],
    ],
  ],
  [
    'identities by their name, the plugin and the restarts',
    {
      Identities: [{ Name: 'i', Audience: ['a'] }],
      CSIPluginConfig: { ID: 'a' },
      RestartPolicy: { Attempts: 1 },
    },
    {
      Identities: [{ Name: 'i', Audience: ['b'] }],
      CSIPluginConfig: { ID: 'b' },
      RestartPolicy: { Attempts: 2 },
    },
    [
      ['~CSIPluginConfig', '~ID a>b'],
      ['~Identity', ['~Audience', '+Audience >b', '-Audience a>']],
      ['~RestartPolicy', '~Attempts 1>2'],
    ],
  ],
]

for (const [name, before, after, lines] of TASK_CASES)
  test(`diff of a task: shows ${name}`, () => assert.deepEqual(taskLines(before, after), lines))

test('diff: of several of one name those that are equal belong together', () => {
  const service = (PortLabel: string) => ({ Name: 's', PortLabel })
  const before = { Services: [service('a'), service('b'), service('c')] }
  const after = { Services: [service('c'), service('d'), service('a')] }
  assert.deepEqual(groupLines(before, after), [['~Service', '~PortLabel b>d']])
})

// Jobs that nobody writes

const MANY = LIMITS.diffValuesMax

test('diff: a set of too many texts is told as one', () => {
  const job = (first: string): Job =>
    aJob({ Datacenters: Array.from({ length: MANY }, (_none, i) => `${first}${i}`) })
  const [object] = diff(job('a'), job('b')).Objects ?? []
  assert.deepEqual(
    [object?.Name, object?.Type, object?.Fields?.length],
    ['Datacenters', 'Edited', 1],
  )
  assert.match(object?.Fields?.[0]?.Old ?? '', /^\["a0","a1",/)
})

test('diff: a structure of too many leaves, or of endless paths, is told as one', () => {
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

test('diff: maps of too many entries are told as one', () => {
  const meta = (value: string) =>
    Object.fromEntries(Array.from({ length: MANY }, (_none, i) => [`k${i}`, value]))
  const [line] = jobLines({ Meta: meta('a') }, { Meta: meta('b') })
  assert.match(String(line), /^~Meta \{"k0":"a"/)
})

test('diff: of too many tasks and objects the last are told by their name', () => {
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
