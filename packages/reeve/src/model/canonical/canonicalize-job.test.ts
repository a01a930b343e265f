import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, TaskGroup } from '@reeve/contract'
import { canonicalizeJob, jobWithDefaults, PARSE_DEFAULTS } from './canonicalize-job.ts'

const SECOND = 1_000_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const DEFAULTS = { region: 'eu', namespace: 'team', nodePool: 'workers' }

function canonical(input: Input<Job>): Job {
  return canonicalizeJob(input, DEFAULTS)
}

function groupOf(input: Input<TaskGroup>, job: Input<Job> = {}): TaskGroup {
  const [group] = canonical({ ID: 'j', ...job, TaskGroups: [{ Name: 'g', ...input }] }).TaskGroups
  assert.ok(group)
  return group
}

test('canonical job: empty input yields all fields', () => {
  assert.deepEqual(canonical({ ID: 'j' }), {
    Region: 'eu',
    Namespace: 'team',
    ID: 'j',
    ParentID: '',
    Name: 'j',
    Type: 'service',
    Priority: 50,
    AllAtOnce: false,
    Datacenters: ['*'],
    NodePool: 'workers',
    Constraints: null,
    Affinities: null,
    Spreads: null,
    TaskGroups: [],
    Update: {
      Stagger: 30 * SECOND,
      MaxParallel: 1,
      HealthCheck: '',
      MinHealthyTime: 0,
      HealthyDeadline: 0,
      ProgressDeadline: 0,
      AutoRevert: false,
      AutoPromote: false,
      Canary: 0,
    },
    Migrate: null,
    Reschedule: null,
    Multiregion: null,
    Periodic: null,
    ParameterizedJob: null,
    Meta: null,
    UI: null,
    DiscoveryToken: '',
    DiscoveryNamespace: '',
    SecretStoreToken: '',
    SecretStoreNamespace: '',
    Dispatched: false,
    DispatchIdempotencyToken: '',
    Payload: null,
    ServiceTokenID: '',
    Stop: false,
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Version: 0,
    VersionTag: null,
    SubmitTime: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  } satisfies Job)
})

const jobCases: readonly { name: string; input: Input<Job>; want: Partial<Job> }[] = [
  {
    name: 'null and empty lists and maps are unset',
    input: { ID: 'j', Datacenters: [], Constraints: [], Meta: {}, Spreads: null },
    want: { Datacenters: ['*'], Constraints: null, Meta: null, Spreads: null },
  },
  {
    name: 'an empty namespace, region or pool is the default',
    input: { ID: 'j', Namespace: '', Region: '', NodePool: '' },
    want: { Namespace: 'team', Region: 'eu', NodePool: 'workers' },
  },
  {
    name: 'what is given stays',
    input: { ID: 'j', Name: 'n', Type: 'batch', Priority: 7, Region: 'us', NodePool: 'all' },
    want: { Name: 'n', Type: 'batch', Priority: 7, Region: 'us', NodePool: 'all' },
  },
  {
    name: 'the tokens of a submission are not kept',
    input: { ID: 'j', DiscoveryToken: 'secret', SecretStoreToken: 'secret' },
    want: { DiscoveryToken: '', SecretStoreToken: '' },
  },
  {
    name: 'a job for several regions is global',
    input: { ID: 'j', Multiregion: { Regions: [{ Name: 'us' }] } },
    want: {
      Region: 'global',
      Multiregion: {
        Strategy: null,
        Regions: [{ Name: 'us', Count: 0, Datacenters: null, NodePool: '', Meta: null }],
      },
    },
  },
  {
    name: 'periodic is enabled, cron and UTC',
    input: { ID: 'j', Type: 'batch', Periodic: { Spec: '@daily', TimeZone: '' } },
    want: {
      Periodic: {
        Enabled: true,
        Spec: '@daily',
        Specs: null,
        SpecType: 'cron',
        ProhibitOverlap: false,
        TimeZone: 'UTC',
      },
    },
  },
  {
    name: 'a payload is optional',
    input: { ID: 'j', ParameterizedJob: {} },
    want: { ParameterizedJob: { Payload: 'optional', MetaRequired: null, MetaOptional: null } },
  },
  {
    name: 'operands and weights have defaults, null values of maps are empty texts',
    input: {
      ID: 'j',
      Constraints: [{ LTarget: 'a' }],
      Affinities: [{ LTarget: 'a', Weight: null }],
      Spreads: [{ Attribute: 'a', SpreadTarget: [] }],
      Meta: { b: null, a: '1' },
    },
    want: {
      Constraints: [{ LTarget: 'a', RTarget: '', Operand: '=' }],
      Affinities: [{ LTarget: 'a', RTarget: '', Operand: '=', Weight: 50 }],
      Spreads: [{ Attribute: 'a', Weight: 50, SpreadTarget: null }],
      Meta: { a: '1', b: '' },
    },
  },
]
for (const { name, input, want } of jobCases)
  test(`canonical job: ${name}`, () => {
    const job = canonical(input)
    for (const [field, value] of Object.entries(want))
      assert.deepEqual(Reflect.get(job, field), value, field)
  })

test('canonical job: defaults without a server', () => {
  const { Region, Namespace, NodePool } = canonicalizeJob({ ID: 'j' }, PARSE_DEFAULTS)
  assert.deepEqual([Region, Namespace, NodePool], ['global', 'default', ''])
})

const SERVICE_UPDATE = {
  Stagger: 30 * SECOND,
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * SECOND,
  HealthyDeadline: 5 * MINUTE,
  ProgressDeadline: 10 * MINUTE,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
}
const SERVICE_MIGRATE = {
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * SECOND,
  HealthyDeadline: 5 * MINUTE,
}
const LONG_RESTART = {
  Attempts: 2,
  Interval: 30 * MINUTE,
  Delay: 15 * SECOND,
  Mode: 'fail',
  RenderTemplates: false,
}
const BATCH_RESTART = { ...LONG_RESTART, Attempts: 3, Interval: 24 * HOUR }

const typeCases = [
  {
    type: 'service',
    RestartPolicy: LONG_RESTART,
    ReschedulePolicy: {
      Attempts: 0,
      Interval: 0,
      Delay: 30 * SECOND,
      DelayFunction: 'exponential',
      MaxDelay: HOUR,
      Unlimited: true,
    },
    Update: SERVICE_UPDATE,
    Migrate: SERVICE_MIGRATE,
  },
  {
    type: 'batch',
    RestartPolicy: BATCH_RESTART,
    ReschedulePolicy: {
      Attempts: 1,
      Interval: 24 * HOUR,
      Delay: 5 * SECOND,
      DelayFunction: 'constant',
      MaxDelay: 0,
      Unlimited: false,
    },
    Update: null,
    Migrate: null,
  },
  {
    type: 'system',
    RestartPolicy: LONG_RESTART,
    ReschedulePolicy: null,
    Update: SERVICE_UPDATE,
    Migrate: null,
  },
  {
    type: 'sysbatch',
    RestartPolicy: BATCH_RESTART,
    ReschedulePolicy: null,
    Update: null,
    Migrate: null,
  },
] as const
for (const { type, ...want } of typeCases)
  test(`canonical group: policies of a ${type} job`, () => {
    const group = groupOf({}, { Type: type })
    const { RestartPolicy, ReschedulePolicy, Update, Migrate } = group
    assert.deepEqual({ RestartPolicy, ReschedulePolicy, Update, Migrate }, want)
  })

test('canonical group: group overrides job overrides defaults', () => {
  const group = groupOf(
    {
      Update: { MaxParallel: 3 },
      ReschedulePolicy: { Delay: MINUTE },
      Migrate: { MaxParallel: 4 },
    },
    {
      Update: { MaxParallel: 2, Canary: 1 },
      Reschedule: { MaxDelay: 2 * HOUR, Delay: SECOND },
      Migrate: { HealthCheck: 'task_states' },
    },
  )
  assert.deepEqual(group.Update, { ...SERVICE_UPDATE, MaxParallel: 3, Canary: 1 })
  assert.equal(group.ReschedulePolicy?.Delay, MINUTE)
  assert.equal(group.ReschedulePolicy?.MaxDelay, 2 * HOUR)
  assert.deepEqual(group.Migrate, {
    ...SERVICE_MIGRATE,
    MaxParallel: 4,
    HealthCheck: 'task_states',
  })
})

test('canonical job: job-level update keeps stagger and max_parallel', () => {
  const { Update, Migrate, Reschedule } = canonical({
    ID: 'j',
    Update: { MaxParallel: 5, Canary: 2, HealthCheck: 'manual' },
    Migrate: { MaxParallel: 2 },
    Reschedule: { Delay: MINUTE },
  })
  assert.deepEqual([Update.MaxParallel, Update.Stagger], [5, 30 * SECOND])
  assert.deepEqual([Update.Canary, Update.HealthCheck], [0, ''])
  assert.deepEqual([Migrate, Reschedule], [null, null])
})

test('job with defaults: the blocks of the job itself are complete or as they were written', () => {
  const Migrate = { MaxParallel: 2 }
  const Reschedule = { Delay: MINUTE }
  const given = { ID: 'j', Update: { MaxParallel: 5, Canary: 2 }, Migrate, Reschedule }
  const filled = jobWithDefaults(given, DEFAULTS)
  assert.deepEqual(filled.Update, { ...SERVICE_UPDATE, MaxParallel: 5, Canary: 2 })
  assert.deepEqual([filled.Migrate, filled.Reschedule], [Migrate, Reschedule])
  const unset = (Type: string): unknown => jobWithDefaults({ ID: 'j', Type }, DEFAULTS).Update
  assert.deepEqual([unset('service'), unset('system')], [SERVICE_UPDATE, SERVICE_UPDATE])
  assert.deepEqual([unset('batch'), unset('sysbatch')], [null, null])
})

test('canonical group: group added to a stored job gets defaults', () => {
  const read = canonical({ ID: 'j', Update: { MaxParallel: 5 }, TaskGroups: [{ Name: 'a' }] })
  const again = canonical({ ...read, TaskGroups: [...read.TaskGroups, { Name: 'b' }] })
  assert.deepEqual(again.TaskGroups[1]?.Update, { ...SERVICE_UPDATE, MaxParallel: 5 })
})

test('canonical group: disallowed blocks are kept for validation', () => {
  const group = groupOf({}, { Type: 'batch', Update: { MaxParallel: 2 }, Migrate: {} })
  assert.equal(group.Update?.MaxParallel, 2)
  assert.deepEqual(group.Migrate, SERVICE_MIGRATE)
  const system = groupOf({ ReschedulePolicy: { Attempts: 1 } }, { Type: 'system' })
  assert.equal(system.ReschedulePolicy?.Attempts, 1)
})

const countCases = [
  { name: 'one when nothing is said', input: {}, count: 1 },
  { name: 'the minimum of its scaling', input: { Scaling: { Min: 3, Max: 5 } }, count: 3 },
  { name: 'what is given', input: { Count: 0, Scaling: { Min: 3, Max: 5 } }, count: 0 },
]
for (const { name, input, count } of countCases)
  test(`canonical group: count is ${name}`, () => assert.equal(groupOf(input).Count, count))

test('canonical group: scaling defaults and target', () => {
  assert.deepEqual(groupOf({ Count: 2, Scaling: { Policy: { a: 1 } } }).Scaling, {
    ID: '',
    Type: 'horizontal',
    Enabled: true,
    Target: { Namespace: 'team', Job: 'j', Group: 'g' },
    Policy: { a: 1 },
    Min: 2,
    Max: -1,
    CreateIndex: 0,
    ModifyIndex: 0,
  })
})

test('canonical group: deprecated arguments become disconnect', () => {
  const want = { LostAfter: HOUR, StopOnClientAfter: null, Replace: true, Reconcile: 'best_score' }
  assert.deepEqual(groupOf({ MaxClientDisconnect: HOUR }).Disconnect, want)
  assert.deepEqual(groupOf({ PreventRescheduleOnLost: true }).Disconnect, {
    ...want,
    LostAfter: 0,
    Replace: false,
  })
  assert.equal(groupOf({ Disconnect: { LostAfter: MINUTE } }).Disconnect?.LostAfter, MINUTE)
  assert.equal(groupOf({}).Disconnect, null)
})

test('canonical group: disk, volumes, networks', () => {
  const group = groupOf({
    Volumes: { data: { Type: 'host', Source: 's' } },
    Networks: [{ DynamicPorts: [{ Label: 'http' }], DNS: {} }],
  })
  assert.deepEqual(group.EphemeralDisk, { Sticky: false, SizeMB: 300, Migrate: false })
  assert.deepEqual(group.Volumes?.['data'], {
    Name: 'data',
    Type: 'host',
    Source: 's',
    ReadOnly: false,
    Sticky: false,
    AccessMode: '',
    AttachmentMode: '',
    MountOptions: null,
    PerAlloc: false,
  })
  assert.deepEqual(group.Networks, [
    {
      Mode: '',
      Device: '',
      CIDR: '',
      IP: '',
      Hostname: '',
      MBits: 0,
      DNS: { Servers: null, Searches: null, Options: null },
      ReservedPorts: null,
      DynamicPorts: [
        { Label: 'http', Value: 0, To: 0, HostNetwork: 'default', IgnoreCollision: false },
      ],
      CNI: null,
    },
  ])
})

test('canonical maps: inherited property names are valid keys', () => {
  const meta: unknown = JSON.parse('{"__proto__":"x","constructor":"y"}')
  // Proof: `Input<Job>['Meta']` is a string map, as is this.
  const job = canonical({ ID: 'j', Meta: meta as Record<string, string> })
  assert.deepEqual(Object.keys(job.Meta ?? {}), ['__proto__', 'constructor'])
})
