import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { isDestructiveUpdate } from './job-versions.ts'

interface Change {
  readonly name: string
  readonly job?: Input<Job>
  readonly group?: Input<TaskGroup>
  readonly task?: Input<Task>
}

const NETWORK = { DynamicPorts: [{ Label: 'http', To: 80 }] }

function build({ job, group, task }: Omit<Change, 'name'>): Job {
  const tasks = [aTask({ Env: { A: '1' }, Meta: { k: 'task' }, ...task })]
  return aJob({
    Meta: { k: 'job', other: 'job' },
    ...job,
    groups: [aGroup({ Networks: [NETWORK], Tasks: tasks, ...group })],
  })
}

const destructive: readonly Change[] = [
  { name: 'another driver', task: { Driver: 'exec' } },
  { name: 'another user', task: { User: 'x' } },
  { name: 'another configuration', task: { Config: { command: '/bin/false' } } },
  { name: 'another environment', task: { Env: { A: '2' } } },
  { name: 'more memory', task: { Resources: { MemoryMB: 512 } } },
  { name: 'cores', task: { Resources: { Cores: 1 } } },
  { name: 'an artifact', task: { Artifacts: [{ GetterSource: 's' }] } },
  { name: 'a template', task: { Templates: [{ DestPath: 'd' }] } },
  { name: 'a mount', task: { VolumeMounts: [{ Volume: 'v' }] } },
  { name: 'an identity', task: { Identity: {} } },
  { name: 'logs that are switched off', task: { LogConfig: { Disabled: true } } },
  { name: 'meta that the task sees', task: { Meta: { k: 'new' } } },
  { name: 'meta of the job that nothing hides', job: { Meta: { k: 'job', other: 'new' } } },
  {
    name: 'another artifact option',
    task: { Artifacts: [{ GetterSource: 's', GetterMode: 'dir' }] },
  },
  { name: 'a plugin', task: { CSIPluginConfig: { ID: 'p' } } },
  { name: 'a device', task: { Resources: { Devices: [{ Name: 'gpu' }] } } },
  { name: 'memory to grow into', task: { Resources: { MemoryMaxMB: 900 } } },
  { name: 'room for secrets', task: { Resources: { SecretsMB: 9 } } },
  { name: 'more processor', task: { Resources: { CPU: 999 } } },
  { name: 'more identities', task: { Identities: [{ Name: 'other' }] } },
  { name: 'a secret store', task: { SecretStore: { Role: 'r' } } },
  { name: 'meta of the group that nothing hides', group: { Meta: { g: '1' } } },
  { name: 'data that stays', group: { EphemeralDisk: { Sticky: true } } },
  {
    name: 'another static port',
    group: { Networks: [{ ...NETWORK, ReservedPorts: [{ Label: 's', Value: 9 }] }] },
  },
  { name: 'another name of the host', group: { Networks: [{ ...NETWORK, Hostname: 'h' }] } },
  { name: 'one network more', group: { Networks: [NETWORK, { Mode: 'bridge' }] } },
  {
    name: 'templates of one task rendered again',
    task: { RestartPolicy: { RenderTemplates: true } },
  },
  { name: 'another disk', group: { EphemeralDisk: { SizeMB: 500 } } },
  { name: 'another mode of the network', group: { Networks: [{ ...NETWORK, Mode: 'bridge' }] } },
  { name: 'another port', group: { Networks: [{ DynamicPorts: [{ Label: 'http', To: 81 }] }] } },
  { name: 'a volume', group: { Volumes: { v: { Type: 'host', Source: 's' } } } },
  { name: 'one more task', group: { Tasks: [aTask(), aTask({ Name: 'b' })] } },
  { name: 'a task of another name', group: { Tasks: [aTask({ Name: 'b' })] } },
  { name: 'templates rendered again', group: { RestartPolicy: { RenderTemplates: true } } },
  { name: 'the group gone', group: { Name: 'other' } },
]
for (const change of destructive)
  test(`update: ${change.name} replaces`, () => {
    assert.equal(isDestructiveUpdate(build({}), build(change), 'app'), true)
  })

const inPlace: readonly Change[] = [
  { name: 'nothing' },
  { name: 'the count', group: { Count: 5 } },
  { name: 'the priority', job: { Priority: 90 } },
  {
    name: 'update, migrate and reschedule',
    group: { Update: { MaxParallel: 9 }, Migrate: { MaxParallel: 2 } },
  },
  { name: 'restart numbers', group: { RestartPolicy: { Attempts: 9 } } },
  { name: 'times and signals', task: { KillTimeout: 1, KillSignal: 'SIGTERM', ShutdownDelay: 1 } },
  { name: 'a hook', task: { Lifecycle: { Hook: 'prestart' } } },
  { name: 'affinities', group: { Affinities: [{ LTarget: '${attr.a}', RTarget: 'b' }] } },
  { name: 'spreads', group: { Spreads: [{ Attribute: '${attr.a}' }] } },
  { name: 'scaling', group: { Scaling: { Min: 1, Max: 9 } } },
  { name: 'what happens on silent nodes', group: { Disconnect: { LostAfter: 1 } } },
  { name: 'a check', group: { Services: [{ Name: 's', Checks: [{ Name: 'c', Type: 'tcp' }] }] } },
  { name: 'when to come again', group: { ReschedulePolicy: { Delay: 9 } } },
  { name: 'a leader', task: { Leader: true } },
  { name: 'services', task: { Services: [{ Name: 's' }] } },
  { name: 'constraints', job: { Constraints: [{ LTarget: '${attr.a}', RTarget: 'b' }] } },
  { name: 'sizes of logs', task: { LogConfig: { MaxFiles: 2 } } },
  { name: 'meta of the job that the task hides', job: { Meta: { k: 'new', other: 'job' } } },
]
for (const change of inPlace)
  test(`update: ${change.name} does not replace`, () => {
    assert.equal(isDestructiveUpdate(build({}), build(change), 'app'), false)
  })
