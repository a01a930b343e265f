import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { validateJob } from './validate-job.ts'

const SECOND = 1_000_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

type Found = readonly [path: string, message: string]

function found(job: Job): readonly Found[] {
  return validateJob(job).list.map(({ path, message }) => [path, message])
}

interface Case {
  readonly name: string
  readonly job: Job
  readonly want: readonly Found[]
}

function withGroup(fields: Input<TaskGroup>, job: Input<Job> = {}): Job {
  return aJob({ ...job, groups: [aGroup(fields)] })
}

function withTask(fields: Input<Task>, job: Input<Job> = {}): Job {
  return aJob({ ...job, groups: [aGroup({ Tasks: [aTask(fields)] })] })
}

const G = 'TaskGroups[0]'
const T = 'TaskGroups[0].Tasks[0]'

const cases: readonly Case[] = [
  {
    name: 'a volume named like what every object inherits is undefined all the same',
    job: withTask({ VolumeMounts: [{ Volume: 'constructor', Destination: '/d' }] }),
    want: [
      [`${T}.VolumeMounts[0].Volume`, 'Volume Mount (0) references undefined volume constructor'],
    ],
  },
  {
    name: 'the name and driver of a task',
    job: withTask({ Name: 'a/b\0', Driver: '' }),
    want: [
      [`${T}.Name`, 'Task name cannot include slashes'],
      [`${T}.Name`, 'Task name cannot include null characters'],
      [`${T}.Driver`, 'Missing task driver'],
    ],
  },
  {
    name: 'signals by numbers that stand for none',
    job: withTask({
      KillSignal: '32',
      Templates: [
        { DestPath: 'local/a', EmbeddedTmpl: 'a', ChangeMode: 'signal', ChangeSignal: '65' },
        { DestPath: 'local/b', EmbeddedTmpl: 'b', ChangeMode: 'signal', ChangeSignal: '1' },
      ],
    }),
    want: [
      [
        `${T}.KillSignal`,
        'There is no signal 32. Use a name such as "SIGTERM", or a number from 1 to 31 or from 34 to 64',
      ],
      [
        `${T}.Templates[0].ChangeSignal`,
        'There is no signal 65. Use a name such as "SIGTERM", or a number from 1 to 31 or from 34 to 64',
      ],
    ],
  },
  {
    name: 'the reserved name of a task',
    job: withTask({ Name: 'alloc' }),
    want: [[`${T}.Name`, 'Task cannot be named "alloc"']],
  },
  {
    name: 'times of a task',
    job: withTask({ KillTimeout: HOUR, ShutdownDelay: -1 }),
    want: [
      [`${T}.KillTimeout`, "KillTimeout (1h0m0s) longer than the group's ProgressDeadline (10m0s)"],
      [`${T}.ShutdownDelay`, 'ShutdownDelay must be a positive value'],
    ],
  },
  {
    name: 'a negative kill timeout',
    job: withTask({ KillTimeout: -1 }),
    want: [[`${T}.KillTimeout`, 'KillTimeout must be a positive value']],
  },
  {
    name: 'resources',
    job: withTask({ Resources: { CPU: 0, MemoryMB: 9, MemoryMaxMB: 8, DiskMB: 1 } }),
    want: [
      [`${T}.Resources.CPU`, 'minimum CPU value is 1; got 0'],
      [`${T}.Resources.MemoryMB`, 'minimum MemoryMB value is 10; got 9'],
      [
        `${T}.Resources.MemoryMaxMB`,
        'MemoryMaxMB value (8) should be larger than MemoryMB value (9)',
      ],
    ],
  },
  {
    name: 'shares and cores',
    job: withTask({ Resources: { CPU: 100, Cores: 1 } }),
    want: [[`${T}.Resources`, "Task can only ask for 'cpu' or 'cores' resource, not both."]],
  },
  {
    name: 'log files',
    job: withTask({ LogConfig: { MaxFiles: 0, MaxFileSizeMB: 0 } }),
    want: [
      [`${T}.LogConfig.MaxFiles`, 'minimum number of files is 1; got 0'],
      [`${T}.LogConfig.MaxFileSizeMB`, 'minimum file size is 1MB; got 0'],
    ],
  },
  {
    name: 'constraints of a task count no other allocations',
    job: withTask({ Constraints: [{ Operand: 'distinct_hosts' }] }),
    want: [
      [
        `${T}.Constraints[0].Operand`,
        'Constraint 1 has disallowed Operand at task level: distinct_hosts',
      ],
    ],
  },
  {
    name: 'templates',
    job: withTask({
      Templates: [
        { DestPath: '', Perms: '9', Splay: -SECOND, ChangeMode: 'x' },
        { EmbeddedTmpl: 'a', DestPath: '../../etc', ChangeMode: 'signal', ChangeSignal: '' },
        { EmbeddedTmpl: 'a', DestPath: 'local/a', Envvars: true, ChangeMode: 'signal' },
        { EmbeddedTmpl: 'a', DestPath: 'local/a', ChangeMode: 'script' },
        { EmbeddedTmpl: 'a', DestPath: '../alloc/x', Wait: { Min: 2 * SECOND, Max: SECOND } },
      ],
    }),
    want: [
      [`${T}.Templates[0]`, 'Must specify a source path or have an embedded template'],
      [`${T}.Templates[0].DestPath`, 'Must specify a destination for the template'],
      [
        `${T}.Templates[0].ChangeMode`,
        'Invalid change mode given: "x". Must be one of the following: noop, restart, signal, script',
      ],
      [`${T}.Templates[0].Splay`, 'Must specify positive splay value, not -1s'],
      [`${T}.Templates[0].Perms`, 'Failed to parse "9" as octal'],
      [`${T}.Templates[1].DestPath`, 'destination escapes allocation directory'],
      [`${T}.Templates[1].ChangeSignal`, 'Must specify signal value when change mode is signal'],
      [`${T}.Templates[2].ChangeMode`, 'cannot use signals with env var templates'],
      [
        `${T}.Templates[3].ChangeScript`,
        'must specify change script configuration value when change mode is script',
      ],
      [`${T}.Templates[3].DestPath`, 'Template 4 has same destination as 3'],
      [`${T}.Templates[4].Wait`, 'template wait min 2s is greater than max 1s'],
    ],
  },
  {
    name: 'artifacts',
    job: withTask({
      Artifacts: [
        { GetterSource: '', GetterMode: 'x', RelativeDest: 'a/../../../b' },
        { GetterSource: 'https://host/s', GetterOptions: { checksum: 'md5:abc' } },
        { GetterSource: 'https://host/s', GetterOptions: { checksum: 'abc' } },
        { GetterSource: 'https://host/s', GetterOptions: { checksum: 'md5:${meta.sum}' } },
        { GetterSource: 'https://host/s', GetterOptions: { checksum: `sha1:${'0'.repeat(40)}` } },
      ],
    }),
    want: [
      [`${T}.Artifacts[0].GetterSource`, 'source must be specified'],
      [`${T}.Artifacts[0].GetterMode`, 'invalid artifact mode "x"; must be one of: any, file, dir'],
      [`${T}.Artifacts[0].RelativeDest`, 'destination escapes allocation directory'],
      [`${T}.Artifacts[1].GetterOptions`, 'invalid md5 checksum: "abc"'],
      [`${T}.Artifacts[2].GetterOptions`, 'checksum value must be given as "type:value" format'],
    ],
  },
  {
    name: 'lifecycle and dispatch payload',
    job: withGroup({
      Tasks: [
        aTask(),
        aTask({ Name: 'a', Lifecycle: { Hook: 'never' }, DispatchPayload: { File: '../x' } }),
        aTask({ Name: 'b', Lifecycle: { Hook: '', Sidecar: true } }),
      ],
    }),
    want: [
      [
        `${G}.Tasks[1].DispatchPayload.File`,
        'Dispatch Payload validation failed: destination escapes allocation directory',
      ],
      [`${G}.Tasks[1].Lifecycle.Hook`, 'Lifecycle validation failed: invalid hook: never'],
      [`${G}.Tasks[2].Lifecycle.Hook`, 'Lifecycle validation failed: no lifecycle hook provided'],
    ],
  },
  {
    name: 'actions',
    job: withTask({
      Actions: [
        { Name: 'a b', Command: '' },
        { Name: 'c', Command: 'x' },
        { Name: 'c', Command: 'x' },
      ],
    }),
    want: [
      [
        `${T}.Actions[0].Name`,
        'invalid name "a b": it must have 1 to 128 characters and no blanks',
      ],
      [`${T}.Actions[0].Command`, 'command cannot be empty'],
      [`${T}.Actions[2].Name`, 'action "c" is defined more than once'],
    ],
  },
]

for (const { name, job, want } of cases)
  test(`task rules: ${name}`, () => assert.deepEqual(found(job), want))
