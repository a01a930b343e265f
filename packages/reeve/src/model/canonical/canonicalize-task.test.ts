import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Service, Task, TaskGroup, Template } from '@reeve/contract'
import { canonicalizeJob } from './canonicalize-job.ts'
import { canonicalizeService } from './canonicalize-service.ts'

const SECOND = 1_000_000_000
const MINUTE = 60 * SECOND

const LONG_RESTART = {
  Attempts: 2,
  Interval: 30 * MINUTE,
  Delay: 15 * SECOND,
  Mode: 'fail',
  RenderTemplates: false,
}

function groupOf(input: Input<TaskGroup>, job: Input<Job> = {}): TaskGroup {
  const defaults = { region: 'eu', namespace: 'team', nodePool: 'workers' }
  const [group] = canonicalizeJob(
    { ID: 'j', ...job, TaskGroups: [{ Name: 'g', ...input }] },
    defaults,
  ).TaskGroups
  assert.ok(group)
  return group
}

function taskOf(input: Input<Task>, job: Input<Job> = {}): Task {
  const [task] = groupOf({ Tasks: [{ Name: 't', ...input }] }, job).Tasks
  assert.ok(task)
  return task
}

test('canonical task: empty input yields all fields', () => {
  const task = taskOf({ Driver: 'raw_exec' })
  assert.deepEqual(task, {
    Name: 't',
    Driver: 'raw_exec',
    User: '',
    Config: null,
    Env: null,
    Services: null,
    Templates: null,
    Constraints: null,
    Affinities: null,
    Resources: {
      CPU: 100,
      Cores: 0,
      MemoryMB: 300,
      MemoryMaxMB: 0,
      DiskMB: 0,
      IOPS: 0,
      SecretsMB: 0,
      Networks: null,
      Devices: null,
      NUMA: null,
    },
    RestartPolicy: LONG_RESTART,
    DispatchPayload: null,
    Meta: null,
    KillTimeout: 5 * SECOND,
    KillSignal: '',
    Kind: '',
    LogConfig: { Disabled: false, MaxFiles: 10, MaxFileSizeMB: 10 },
    Artifacts: null,
    Leader: false,
    Lifecycle: null,
    ShutdownDelay: 0,
    ScalingPolicies: null,
    CSIPluginConfig: null,
    VolumeMounts: null,
    SecretStore: null,
    Secrets: null,
    Discovery: null,
    Identity: null,
    Identities: null,
    Actions: null,
    Schedule: null,
  } satisfies Task)
})

const resourceCases = [
  { name: 'cores leave no default share', input: { Cores: 2 }, cpu: 0, cores: 2 },
  { name: 'no cores means the default share', input: { Cores: 0 }, cpu: 100, cores: 0 },
  { name: 'a given share stays', input: { CPU: 7 }, cpu: 7, cores: 0 },
]
for (const { name, input, cpu, cores } of resourceCases)
  test(`canonical task: ${name}`, () => {
    const { Resources } = taskOf({ Resources: input })
    assert.deepEqual([Resources.CPU, Resources.Cores], [cpu, cores])
  })

test('canonical task: restart policy overrides the group', () => {
  const group = groupOf({
    RestartPolicy: { Attempts: 5, Mode: 'delay' },
    Tasks: [{ RestartPolicy: { Attempts: 1 } }],
  })
  assert.deepEqual(group.Tasks[0]?.RestartPolicy, { ...LONG_RESTART, Attempts: 1, Mode: 'delay' })
})

test('canonical task: empty lifecycle becomes null', () => {
  assert.equal(taskOf({ Lifecycle: { Hook: '', Sidecar: false } }).Lifecycle, null)
  assert.deepEqual(taskOf({ Lifecycle: { Hook: 'prestart' } }).Lifecycle, {
    Hook: 'prestart',
    Sidecar: false,
  })
})

const artifactCases = [
  { source: 'https://x/a.tgz', mode: undefined, dest: 'local/' },
  { source: 'https://x/a.bin', mode: 'file', dest: 'local/a.bin' },
]
for (const { source, mode, dest } of artifactCases)
  test(`canonical artifact: mode ${mode} has destination ${dest}`, () => {
    const [artifact] =
      taskOf({ Artifacts: [{ GetterSource: source, GetterMode: mode }] }).Artifacts ?? []
    assert.equal(artifact?.RelativeDest, dest)
  })

test('canonical template: mode, signal, script and the rest', () => {
  const template = (input: Input<Template>): Template | undefined =>
    taskOf({ Templates: [input] }).Templates?.[0]
  assert.deepEqual(template({ DestPath: 'local/a' }), {
    SourcePath: '',
    DestPath: 'local/a',
    EmbeddedTmpl: '',
    ChangeMode: 'restart',
    ChangeSignal: '',
    ChangeScript: null,
    Once: false,
    Splay: 5 * SECOND,
    Perms: '0644',
    Uid: null,
    Gid: null,
    LeftDelim: '{{',
    RightDelim: '}}',
    Envvars: false,
    Wait: null,
    ErrMissingKey: false,
  })
  assert.equal(template({ ChangeMode: 'signal' })?.ChangeSignal, 'SIGHUP')
  assert.equal(template({ ChangeSignal: 'sigusr1' })?.ChangeSignal, 'SIGUSR1')
  assert.deepEqual(template({ ChangeScript: { Command: 'x' } })?.ChangeScript, {
    Command: 'x',
    Args: null,
    Timeout: 5 * SECOND,
    FailOnError: false,
    RunOnFirstRender: false,
  })
})

test('canonical service: names, provider, checks', () => {
  const service = (input: Input<Service>): Service | undefined =>
    taskOf({ Services: [input] }, { Name: 'shop' }).Services?.[0]
  const plain = service({})
  assert.equal(plain?.Name, 'shop-g-t')
  assert.equal(plain?.TaskName, 't')
  assert.equal(plain?.AddressMode, 'auto')
  assert.equal(plain?.OnUpdate, 'require_healthy')
  assert.equal(plain?.Provider, 'service')
  assert.equal(plain?.Namespace, 'team')
  assert.equal(service({ Provider: 'native' })?.Provider, 'service')
  assert.equal(service({ Name: '${JOB}-${TASKGROUP}-${TASK}-${BASE}' })?.Name, 'shop-g-t-shop-g-t')
  assert.equal(groupOf({ Services: [{}] }).Services?.[0]?.Name, 'j-g')
  const [check] =
    service({ OnUpdate: 'ignore', Checks: [{ CheckRestart: {}, SuccessBeforePassing: -2 }] })
      ?.Checks ?? []
  assert.equal(check?.Name, 'service: "shop-g-t" check')
  assert.equal(check?.OnUpdate, 'ignore')
  assert.equal(check?.SuccessBeforePassing, 0)
  assert.deepEqual(check?.CheckRestart, { Limit: 0, Grace: SECOND, IgnoreWarnings: false })
})

test('canonical secret store: cluster, environment and reaction', () => {
  assert.deepEqual(taskOf({ SecretStore: { Role: 'r' } }).SecretStore, {
    Policies: null,
    Role: 'r',
    Namespace: '',
    Cluster: 'default',
    Env: true,
    DisableFile: false,
    ChangeMode: 'restart',
    ChangeSignal: 'SIGHUP',
    AllowTokenExpiration: false,
  })
})

test('canonical service: its checks take over the check_restart that they leave unset', () => {
  const shared = { Limit: 3, Grace: 30 * SECOND, IgnoreWarnings: true }
  // Clients that parse job files themselves send zero and false for what the file does not set.
  const own = { Limit: 0, Grace: 5 * SECOND, IgnoreWarnings: false }
  const service = (input: Input<Service>) =>
    canonicalizeService(input, { job: 'j', namespace: 'default', group: 'g' })
  const canonical = service({ CheckRestart: shared, Checks: [{}, { CheckRestart: own }] })
  const wanted = [shared, { ...shared, Grace: 5 * SECOND }]
  assert.deepEqual(
    canonical.Checks?.map(({ CheckRestart }) => CheckRestart),
    wanted,
  )
  assert.equal('CheckRestart' in canonical, false)
  assert.deepEqual(service(canonical), canonical)
})
