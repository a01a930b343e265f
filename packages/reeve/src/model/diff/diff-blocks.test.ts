import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Task, TaskGroup } from '@reeve/contract'
import { groupLines, taskLines, type Line } from '../../../test/build/diff-lines.ts'

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

test('diff: equal entries with one name are matched', () => {
  const service = (PortLabel: string) => ({ Name: 's', PortLabel })
  const before = { Services: [service('a'), service('b'), service('c')] }
  const after = { Services: [service('c'), service('d'), service('a')] }
  assert.deepEqual(groupLines(before, after), [['~Service', '~PortLabel b>d']])
})
