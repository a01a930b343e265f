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
  return withGroup({ Tasks: [aTask(fields)] }, job)
}

const G = 'TaskGroups[0]'
const T = 'TaskGroups[0].Tasks[0]'

const cases: readonly Case[] = [
  { name: 'the smallest job is in order', job: aJob(), want: [] },
  {
    name: 'region, id, name, namespace and type must be there',
    job: { ...aJob(), Region: '', ID: '', Name: '', Namespace: '', Type: '' },
    want: [
      ['Region', 'Missing job region'],
      ['ID', 'Missing job ID'],
      ['Name', 'Missing job name'],
      ['Namespace', 'Job must be in a namespace'],
      ['Type', 'Missing job type'],
    ],
  },
  {
    name: 'ids and names have no blanks or null characters',
    job: { ...aJob(), ID: 'a b\0', Name: 'a\0' },
    want: [
      ['ID', 'Job ID contains a space'],
      ['ID', 'Job ID contains a null character'],
      ['Name', 'Job Name contains a null character'],
    ],
  },
  { name: 'an unknown type', job: aJob({ Type: 'x' }), want: [['Type', 'Invalid job type: "x"']] },
  {
    name: 'the internal type',
    job: aJob({ Type: '_core' }),
    want: [['Type', 'job type cannot be core']],
  },
  {
    name: 'datacenters',
    job: { ...aJob(), Datacenters: [] },
    want: [['Datacenters', 'Missing job datacenters']],
  },
  {
    name: 'names of datacenters',
    job: aJob({ Datacenters: ['dc1', ''] }),
    want: [['Datacenters', 'Job datacenter must be non-empty string']],
  },
  {
    name: 'task groups',
    job: aJob({ TaskGroups: [] }),
    want: [['TaskGroups', 'Missing job task groups']],
  },
  {
    name: 'priority and total count',
    job: { ...withGroup({ Count: 50_001 }), Priority: 101 },
    want: [
      ['Priority', 'job priority must be between [1, 100]'],
      ['TaskGroups', 'total count was greater than configured job_max_count: 50001 > 50000'],
    ],
  },
  {
    name: 'a payload',
    job: aJob({ Payload: 'eA==' }),
    want: [['Payload', "job can't be submitted with a payload, only dispatched"]],
  },
  {
    name: 'system jobs have one of each on a node, and no choice of nodes',
    job: aJob({
      Type: 'system',
      Affinities: [{ LTarget: '${node.class}', RTarget: 'a' }],
      Spreads: [{ Attribute: '${node.class}' }],
      groups: [aGroup({ Count: 2, Scaling: { Max: 2 } })],
    }),
    want: [
      ['Affinities', 'System jobs may not have an affinity block'],
      ['Spreads', 'System jobs may not have a spread block'],
      [`${G}.Count`, 'Job task group app has count 2. Count cannot exceed 1 with system scheduler'],
      [`${G}.Scaling`, 'Task groups with job type system do not support scaling blocks'],
    ],
  },
  {
    name: 'names of groups are there and differ',
    job: aJob({ groups: [aGroup(), aGroup({ Name: '' }), aGroup()] }),
    want: [
      ['TaskGroups[1].Name', 'Job task group 2 missing name'],
      ['TaskGroups[2].Name', "Job task group 3 redefines 'app' from group 1"],
      ['TaskGroups[1].Name', 'Missing task group name'],
    ],
  },
  {
    name: 'the shape of a group',
    job: withGroup({ Count: -1, ShutdownDelay: -1, Tasks: [] }),
    want: [
      [`${G}.ShutdownDelay`, 'ShutdownDelay must be a positive value'],
      [`${G}.Count`, "Task group count can't be negative"],
      [`${G}.Tasks`, 'Missing tasks for task group'],
    ],
  },
  {
    name: 'tasks of a group: names, leaders, a main task',
    job: withGroup({
      Tasks: [
        aTask({ Leader: true, Lifecycle: { Hook: 'prestart' } }),
        aTask({ Leader: true, Lifecycle: { Hook: 'poststop' } }),
        aTask({ Name: '', Lifecycle: { Hook: 'poststart' } }),
      ],
    }),
    want: [
      [`${G}.Tasks[1].Name`, "Task 2 redefines 'main' from task 1"],
      [`${G}.Tasks[2].Name`, 'Task 3 missing name'],
      [`${G}.Tasks`, 'Only one task may be marked as leader'],
      [`${G}.Tasks`, 'Task group app must have at least one main task'],
      [`${G}.Tasks[2].Name`, 'Missing task name'],
    ],
  },
  {
    name: 'blocks that the type does not allow',
    job: withGroup({ Update: {}, Migrate: {} }, { Type: 'batch' }),
    want: [
      [`${G}.Update`, 'Job type "batch" does not allow update block'],
      [`${G}.Migrate`, 'Job type "batch" does not allow migrate block'],
    ],
  },
  {
    name: 'a time limit is for jobs that end',
    job: withGroup({ MaxRunDuration: 0 }),
    want: [
      [`${G}.MaxRunDuration`, 'Job type "service" does not allow max_run_duration block'],
      [`${G}.MaxRunDuration`, 'max_run_duration must be greater than zero'],
    ],
  },
  {
    name: 'reschedule policies by type',
    job: withGroup({ ReschedulePolicy: { Attempts: 1 } }, { Type: 'sysbatch' }),
    want: [
      [`${G}.ReschedulePolicy`, 'System or sysbatch jobs should not have a reschedule policy'],
    ],
  },
  {
    name: 'an update that cannot work',
    job: withGroup({
      Update: {
        HealthCheck: 'x',
        MaxParallel: -1,
        Canary: -1,
        AutoPromote: true,
        MinHealthyTime: 2 * HOUR,
        HealthyDeadline: HOUR,
        ProgressDeadline: MINUTE,
        Stagger: 0,
      },
    }),
    want: [
      [`${G}.Update.HealthCheck`, 'Invalid health check given: "x"'],
      [`${G}.Update.MaxParallel`, 'Max parallel can not be less than zero: -1 < 0'],
      [`${G}.Update.Canary`, 'Canary count can not be less than zero: -1 < 0'],
      [`${G}.Update.AutoPromote`, 'Auto Promote requires a Canary count greater than zero'],
      [
        `${G}.Update.MinHealthyTime`,
        'Minimum healthy time must be less than healthy deadline: 2h0m0s >= 1h0m0s',
      ],
      [
        `${G}.Update.HealthyDeadline`,
        'Healthy deadline must be less than progress deadline: 1h0m0s >= 1m0s',
      ],
      [`${G}.Update.Stagger`, 'Stagger must be greater than zero: 0s'],
    ],
  },
  {
    name: 'a reschedule policy that cannot work',
    job: withGroup({
      ReschedulePolicy: {
        Attempts: 3,
        Interval: 10 * SECOND,
        Delay: SECOND,
        DelayFunction: 'x',
        MaxDelay: 0,
        Unlimited: true,
      },
    }),
    want: [
      [
        `${G}.ReschedulePolicy`,
        'Reschedule Policy with Attempts = 3, Interval = 10s, and Unlimited = true is ambiguous',
      ],
      [`${G}.ReschedulePolicy.Delay`, 'Delay cannot be less than 5s (got 1s)'],
      [
        `${G}.ReschedulePolicy.DelayFunction`,
        'Invalid delay function "x", must be one of "constant", "exponential", "fibonacci"',
      ],
      [`${G}.ReschedulePolicy.MaxDelay`, 'Max Delay cannot be less than 5s (got 0s)'],
      [`${G}.ReschedulePolicy.MaxDelay`, 'Max Delay cannot be less than Delay 1s (got 0s)'],
    ],
  },
  {
    name: 'attempts that do not fit the interval of their policy',
    job: withGroup({
      ReschedulePolicy: {
        Attempts: 5,
        Interval: 5 * MINUTE,
        Delay: 30 * SECOND,
        DelayFunction: 'exponential',
        MaxDelay: 2 * MINUTE,
        Unlimited: false,
      },
    }),
    want: [
      [
        `${G}.ReschedulePolicy.Interval`,
        '5 attempts with an initial delay of 30s and delay function "exponential" do not fit in an interval of 5m0s; set the interval to at least 7m30s',
      ],
    ],
  },
  {
    name: 'a disabled reschedule policy is not looked at',
    job: withGroup({ ReschedulePolicy: { Attempts: 0, Unlimited: false, Delay: 0 } }),
    want: [],
  },
  {
    name: 'a restart policy that cannot work',
    job: withGroup({ RestartPolicy: { Mode: 'x', Attempts: 0, Interval: SECOND } }),
    want: [
      [`${G}.RestartPolicy.Mode`, 'Unsupported restart mode: "x"'],
      [`${G}.RestartPolicy.Attempts`, 'Restart policy "x" with 0 attempts is ambiguous'],
      [`${G}.RestartPolicy.Interval`, 'Interval can not be less than 5s (got 1s)'],
    ],
  },
  {
    name: 'more restarts than the interval has room for',
    job: withGroup({ RestartPolicy: { Attempts: 9, Interval: MINUTE, Delay: 30 * SECOND } }),
    want: [
      [
        `${G}.RestartPolicy`,
        "can't restart the task group 9 times in an interval of 1m0s with a delay of 30s",
      ],
    ],
  },
  {
    name: 'a disconnect block that contradicts itself',
    job: withGroup(
      { Disconnect: { LostAfter: HOUR, StopOnClientAfter: HOUR, Reconcile: 'x' } },
      { Type: 'sysbatch' },
    ),
    want: [
      [`${G}.Disconnect`, 'lost_after and stop_on_client_after cannot both be set'],
      [
        `${G}.Disconnect.StopOnClientAfter`,
        'stop_on_client_after can only be used with service and batch jobs',
      ],
      [
        `${G}.Disconnect.Reconcile`,
        'Invalid reconcile option "x", must be one of "keep_original", "keep_replacement", "best_score", "longest_running"',
      ],
    ],
  },
  {
    name: 'disk and logs',
    job: withGroup({ EphemeralDisk: { SizeMB: 5 } }),
    want: [
      [`${G}.EphemeralDisk.SizeMB`, 'minimum DiskMB value is 10; got 5'],
      [`${T}.LogConfig`, 'log storage (100 MB) must be less than requested disk capacity (5 MB)'],
    ],
  },
  {
    name: 'ports',
    job: withGroup({
      Networks: [
        {
          Mode: 'bridge',
          Hostname: 'not a name',
          ReservedPorts: [
            { Label: 'a', Value: 80 },
            { Label: 'b', Value: 80 },
            { Label: 'c', Value: 70_000 },
          ],
          DynamicPorts: [{ Label: 'a', To: -2, IgnoreCollision: true }],
        },
      ],
    }),
    want: [
      [
        `${G}.Networks[0].ReservedPorts[1].Value`,
        'Static port 80 already reserved by taskgroup network:a',
      ],
      [`${G}.Networks[0].ReservedPorts[2].Value`, 'Port c (70000) cannot be greater than 65535'],
      [
        `${G}.Networks[0].DynamicPorts[0].Label`,
        'Port label a already in use by taskgroup network',
      ],
      [`${G}.Networks[0].DynamicPorts[0].To`, 'Port "a" cannot be mapped to negative value -2'],
      [
        `${G}.Networks[0].DynamicPorts[0].IgnoreCollision`,
        'Port "a" collision may not be ignored on non-host network mode "bridge"',
      ],
      [`${G}.Networks[0].Hostname`, 'Hostname is not a valid DNS name'],
    ],
  },
  {
    name: 'the same static port on another host network',
    job: withGroup({
      Networks: [
        {
          ReservedPorts: [
            { Label: 'a', Value: 80 },
            { Label: 'b', Value: 80, HostNetwork: 'public' },
          ],
        },
      ],
    }),
    want: [],
  },
  {
    name: 'scaling bounds',
    job: withGroup({ Count: 5, Scaling: { Min: 6, Max: 4 } }),
    want: [
      [
        `${G}.Scaling.Max`,
        'Scaling policy invalid: maximum count must not be less than minimum count',
      ],
      [
        `${G}.Count`,
        'Scaling policy invalid: task group count must not be greater than maximum count in scaling policy',
      ],
      [
        `${G}.Count`,
        'Scaling policy invalid: task group count must not be less than minimum count in scaling policy',
      ],
    ],
  },
  {
    name: 'a scaling block needs a maximum',
    job: withGroup({ Scaling: {} }),
    want: [
      [
        `${G}.Scaling.Max`,
        'Scaling policy invalid: maximum count must be specified and non-negative',
      ],
    ],
  },
  {
    name: 'volumes and their mounts',
    job: withGroup({
      Volumes: { data: { Type: 'x', PerAlloc: true, Sticky: true, Source: '' } },
      Tasks: [
        aTask({ VolumeMounts: [{ Volume: 'other', Destination: '/d', PropagationMode: 'x' }] }),
      ],
    }),
    want: [
      [`${G}.Volumes[data].Source`, 'volume has an empty source'],
      [`${G}.Volumes[data].Type`, 'volume has unrecognized type "x"'],
      [`${G}.Volumes[data].PerAlloc`, 'volume cannot be both per_alloc and sticky'],
      [`${T}.VolumeMounts[0].Volume`, 'Volume Mount (0) references undefined volume other'],
      [
        `${T}.VolumeMounts[0].PropagationMode`,
        'Volume Mount (0) has an invalid propagation mode: "x"',
      ],
    ],
  },
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
      [
        `${T}.Resources.DiskMB`,
        "Task can't ask for disk resources, they have to be specified at the task group level.",
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
    name: 'constraints of a job',
    job: aJob({
      Constraints: [
        { LTarget: '${attr.a}', RTarget: '' },
        { LTarget: '', RTarget: 'x' },
        { LTarget: '${env.HOME}', RTarget: 'x' },
        { LTarget: 'a', Operand: 'like', RTarget: 'x' },
        { LTarget: '${attr.a}', Operand: 'regexp', RTarget: '(' },
        { LTarget: '${attr.a}', Operand: 'version', RTarget: 'about 1' },
        { LTarget: '${attr.a}', Operand: 'is_set', RTarget: 'x' },
        { LTarget: '${attr.a}', Operand: 'distinct_property', RTarget: '0' },
        { Operand: 'distinct_hosts', RTarget: 'perhaps' },
        { LTarget: '${attr.a}', Operand: 'set_contains', RTarget: '' },
        { Operand: 'distinct_hosts' },
      ],
    }),
    want: [
      ['Constraints[0].RTarget', 'Operator "=" requires an RTarget'],
      ['Constraints[1].LTarget', 'No LTarget provided but is required by constraint'],
      ['Constraints[2].LTarget', 'LTarget "${env.HOME}" is not a property that can be compared'],
      ['Constraints[3].Operand', 'Unknown constraint type "like"'],
      [
        'Constraints[4].RTarget',
        'Regular expression failed to compile: error parsing regexp: missing closing ): `(`',
      ],
      ['Constraints[5].RTarget', 'Version constraint is invalid: malformed constraint: about 1'],
      ['Constraints[6].RTarget', 'Operator "is_set" does not support an RTarget'],
      [
        'Constraints[7].RTarget',
        'Distinct Property must have an allowed count of 1 or greater; got 0 < 1',
      ],
      ['Constraints[8].RTarget', 'Failed to parse RTarget "perhaps" as a bool'],
      ['Constraints[9].RTarget', 'Set contains constraint requires an RTarget'],
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
    name: 'affinities',
    job: aJob({
      Affinities: [
        { LTarget: '${attr.a}', RTarget: 'x', Weight: 0 },
        { LTarget: '${attr.a}', RTarget: 'x', Weight: 101 },
        { LTarget: '${attr.a}', Operand: 'is_set' },
      ],
    }),
    want: [
      ['Affinities[0].Weight', 'Affinity weight cannot be zero'],
      ['Affinities[1].Weight', 'Affinity weight must be within the range [-100,100]'],
      ['Affinities[2].Operand', 'Unknown affinity operator "is_set"'],
    ],
  },
  {
    name: 'spreads',
    job: aJob({
      Spreads: [
        { Attribute: '', Weight: 0 },
        {
          Attribute: '${node.datacenter}',
          SpreadTarget: [
            { Value: 'a', Percent: 70 },
            { Value: 'a', Percent: 40 },
          ],
        },
      ],
    }),
    want: [
      ['Spreads[0].Attribute', 'Missing spread attribute'],
      ['Spreads[0].Weight', 'Spread block must have a positive weight from 1 to 100'],
      ['Spreads[1].SpreadTarget[1].Value', 'Spread target value "a" already defined'],
      [
        'Spreads[1].SpreadTarget',
        'Sum of spread target percentages must not be greater than 100%; got 110%',
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
        { GetterSource: 's', GetterOptions: { checksum: 'md5:abc' } },
        { GetterSource: 's', GetterOptions: { checksum: 'abc' } },
        { GetterSource: 's', GetterOptions: { checksum: 'md5:${meta.sum}' } },
        { GetterSource: 's', GetterOptions: { checksum: `sha1:${'0'.repeat(40)}` } },
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
    name: 'actions and identities',
    job: withTask({
      Actions: [
        { Name: 'a b', Command: '' },
        { Name: 'c', Command: 'x' },
        { Name: 'c', Command: 'x' },
      ],
      Identity: { TTL: HOUR },
      Identities: [{ Name: 'a!', ChangeMode: 'signal' }],
    }),
    want: [
      [
        `${T}.Identity.TTL`,
        'ttl for the default identity cannot be set: it lives as long as its allocation',
      ],
      [`${T}.Identities[0].Name`, 'invalid name "a!": it must match ^[A-Za-z0-9_-]{1,128}$'],
      [
        `${T}.Identities[0].ChangeSignal`,
        'change_signal must be specified when change_mode is signal',
      ],
      [
        `${T}.Actions[0].Name`,
        'invalid name "a b": it must have 1 to 128 characters and no blanks',
      ],
      [`${T}.Actions[0].Command`, 'command cannot be empty'],
      [`${T}.Actions[2].Name`, 'action "c" is defined more than once'],
    ],
  },
  {
    name: 'services and checks',
    job: withGroup({
      Networks: [{ DynamicPorts: [{ Label: 'http' }] }],
      Services: [
        { Name: 'api', PortLabel: 'http', AddressMode: 'driver' },
        { Name: 'api', PortLabel: 'http' },
        { Name: '-bad-', PortLabel: 'none', Provider: 'discovery' },
        {
          Name: 'checked',
          Checks: [
            { Name: 'c', Type: 'script', Interval: SECOND, Timeout: SECOND },
            { Name: 'h', Type: 'http', Path: 'http://x/', Interval: 0, Timeout: 0 },
            {
              Name: 'r',
              Type: 'tcp',
              PortLabel: 'http',
              Interval: SECOND,
              Timeout: SECOND,
              OnUpdate: 'ignore',
              CheckRestart: { Limit: 1 },
              InitialStatus: 'x',
            },
          ],
        },
      ],
    }),
    want: [
      [`${G}.Services`, 'Services are not unique: api:http'],
      [
        `${G}.Services`,
        'Multiple service providers used: task group services must use the same provider, found discovery, service',
      ],
      [
        `${G}.Services[2].PortLabel`,
        'port label "none" referenced by services -bad- does not exist',
      ],
      [
        `${G}.Services[0].AddressMode`,
        'Service api cannot use address_mode "driver", only services of a task can',
      ],
      [
        `${G}.Services[2].Name`,
        'Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and must be no longer than 63 characters',
      ],
      [
        `${G}.Services[3].Checks[0].Type`,
        'invalid check type ("script"), must be one of http, tcp',
      ],
      [`${G}.Services[3].Checks[0].Command`, 'script type must have a valid script path'],
      [`${G}.Services[3].Checks[0].TaskName`, 'script type must name its task'],
      [`${G}.Services[3].Checks[1].PortLabel`, 'check "h" is missing a port'],
      [`${G}.Services[3].Checks[1].Path`, 'http type must have relative http path'],
      [`${G}.Services[3].Checks[1].Interval`, 'interval (0s) can not be lower than 1s'],
      [
        `${G}.Services[3].Checks[1].Timeout`,
        'timeout (0s) is lower than required minimum timeout 1s',
      ],
      [
        `${G}.Services[3].Checks[2].InitialStatus`,
        'invalid initial check state (x), must be one of passing, warning, critical',
      ],
      [
        `${G}.Services[3].Checks[2].OnUpdate`,
        'on_update value "ignore" is not compatible with check_restart',
      ],
    ],
  },
  {
    name: 'names of services that nodes complete',
    job: withGroup({ Services: [{ Name: '${meta.team}-api' }, { Name: '${meta.all}' }] }),
    want: [],
  },
  {
    name: 'periodic jobs',
    job: aJob({ Periodic: { TimeZone: 'Mars/Base', SpecType: 'x' } }),
    want: [
      ['Periodic', 'Periodic can only be used with "batch" or "sysbatch" scheduler'],
      ['Periodic', 'Must specify a spec'],
      ['Periodic.TimeZone', 'Invalid time zone "Mars/Base": unknown time zone Mars/Base'],
      ['Periodic.SpecType', 'Unknown periodic specification type "x"'],
    ],
  },
  {
    name: 'the spec of a periodic job',
    job: aJob({ Type: 'batch', Periodic: { Spec: '61 * * * *', Specs: ['@daily'] } }),
    want: [
      ['Periodic', 'Only cron or crons may be used'],
      ['Periodic.Spec', 'Invalid cron spec "61 * * * *": syntax error in minute field: "61"'],
    ],
  },
  {
    name: 'a periodic job that is off is not looked at',
    job: aJob({ Type: 'batch', Periodic: { Enabled: false } }),
    want: [],
  },
  {
    name: 'parameterized jobs',
    job: aJob({
      ParameterizedJob: { Payload: 'x', MetaRequired: ['b', 'a'], MetaOptional: ['a', 'b'] },
    }),
    want: [
      [
        'ParameterizedJob',
        'Parameterized job can only be used with "batch" or "sysbatch" scheduler',
      ],
      ['ParameterizedJob.Payload', 'Unknown payload requirement: "x"'],
      [
        'ParameterizedJob.MetaOptional',
        'Required and optional meta keys should be disjoint. Following keys exist in both: [a b]',
      ],
    ],
  },
]

for (const { name, job, want } of cases)
  test(`validation: ${name}`, () => assert.deepEqual(found(job), want))

test('validation: the text nests groups and tasks as multi-errors', () => {
  const job = withTask({ Driver: '' })
  assert.equal(
    validateJob(job).text,
    '1 error occurred:\n\t* Task group app validation failed: 1 error occurred:\n\t* Task main validation failed: 1 error occurred:\n\t* Missing task driver\n\n\n\n\n\n',
  )
})

test('validation: a job in order has no text', () => {
  assert.deepEqual(validateJob(aJob()), { text: '', list: [] })
})

test('validation: constraints are counted from one', () => {
  const { text } = validateJob(aJob({ Constraints: [{ Operand: 'like' }] }))
  assert.match(
    text,
    /^1 error occurred:\n\t\* Constraint 1 validation failed: 1 error occurred:\n\t\* Unknown/,
  )
})

test('validation: who registers may raise the highest priority and read cron with a calendar', () => {
  const job = aJob({ Type: 'batch', Priority: 200, Periodic: { Spec: 'tomorrow' } })
  assert.deepEqual(validateJob(job, { priorityMax: 200, checkCron: () => undefined }).list, [])
})
