import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, TaskGroup } from '@reeve/contract'
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

const G = 'TaskGroups[0]'
const T = 'TaskGroups[0].Tasks[0]'

const cases: readonly Case[] = [
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
      [
        `${T}.LogConfig`,
        'log storage (100 MB) must be less than requested disk capacity (5 MB): ' +
          'raise size of ephemeral_disk, or lower max_files or max_file_size of logs',
      ],
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
            { Name: 'g', Type: 'ttl', Interval: SECOND, Timeout: SECOND },
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
        `${G}.Services[2].Provider`,
        'provider "discovery": external service catalogues are not supported: use provider = "service", the built-in catalogue',
      ],
      [`${G}.Services[3].Checks[0].Command`, 'script type must have a valid script path'],
      [`${G}.Services[3].Checks[0].TaskName`, 'script type must name its task'],
      [
        `${G}.Services[3].Checks[1].Type`,
        'invalid check type ("ttl"), must be one of http, tcp, grpc, script',
      ],
      [`${G}.Services[3].Checks[2].PortLabel`, 'check "h" is missing a port'],
      [`${G}.Services[3].Checks[2].Path`, 'http type must have relative http path'],
      [`${G}.Services[3].Checks[2].Interval`, 'interval (0s) can not be lower than 1s'],
      [
        `${G}.Services[3].Checks[2].Timeout`,
        'timeout (0s) is lower than required minimum timeout 1s',
      ],
      [
        `${G}.Services[3].Checks[3].InitialStatus`,
        'invalid initial check state (x), must be one of passing, warning, critical',
      ],
      [
        `${G}.Services[3].Checks[3].OnUpdate`,
        'on_update value "ignore" is not compatible with check_restart',
      ],
    ],
  },
  {
    name: 'names of services that nodes complete',
    job: withGroup({ Services: [{ Name: '${meta.team}-api' }, { Name: '${meta.all}' }] }),
    want: [],
  },
]

for (const { name, job, want } of cases)
  test(`group rules: ${name}`, () => assert.deepEqual(found(job), want))
