import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Service, ServiceCheck, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { jobWarnings } from './job-warnings.ts'
import { validateJob } from './validate-job.ts'

const SECOND = 1_000_000_000
const G = 'TaskGroups[0]'
const T = `${G}.Tasks[0]`

const withGroup = (fields: Input<TaskGroup>): Job => aJob({ groups: [aGroup(fields)] })
const withTask = (fields: Input<Task>): Job => withGroup({ Tasks: [aTask(fields)] })
const withService = (fields: Input<Service>): Job =>
  withGroup({
    Networks: [{ DynamicPorts: [{ Label: 'http' }] }],
    Services: [{ Name: 'api', PortLabel: 'http', ...fields }],
    ShutdownDelay: SECOND,
  })
const withCheck = (fields: Input<ServiceCheck>): Job =>
  withService({
    Checks: [{ Name: 'c', Type: 'tcp', Interval: SECOND, Timeout: SECOND, ...fields }],
  })
const withArtifact = (GetterSource: string): Job => withTask({ Artifacts: [{ GetterSource }] })
const withSchedule = (Start: string, End: string, Timezone = ''): Job =>
  withTask({ Schedule: { Cron: { Start, End, Timezone } } })

interface Rejection {
  readonly name: string
  readonly job: Job
  readonly path: string
  /** Expected message; for a block without effect it names the alternative. */
  readonly says: RegExp
}

const rejections: readonly Rejection[] = [
  {
    name: 'an identity that a task would read',
    job: withTask({ Identity: { Env: true } }),
    path: `${T}.Identity`,
    says: /variables with a template block/,
  },
  {
    name: 'a named identity',
    job: withTask({ Identities: [{ Name: 'aws', Audience: ['x'] }] }),
    path: `${T}.Identities`,
    says: /variables with a template block/,
  },
  {
    name: 'secret_store',
    job: withTask({ SecretStore: { Policies: ['p'] } }),
    path: `${T}.SecretStore`,
    says: /keep the values in variables/,
  },
  {
    name: 'secret',
    job: withTask({ Secrets: [{ Name: 's', Provider: 'x', Path: 'y' }] }),
    path: `${T}.Secrets`,
    says: /keep the values in variables/,
  },
  {
    name: 'discovery of a task',
    job: withTask({ Discovery: { Cluster: 'c' } }),
    path: `${T}.Discovery`,
    says: /provider = "service"/,
  },
  {
    name: 'discovery of a group',
    job: withGroup({ Discovery: {} }),
    path: `${G}.Discovery`,
    says: /provider = "service"/,
  },
  {
    name: 'csi_plugin',
    job: withTask({ CSIPluginConfig: { ID: 'x', Type: 'node' } }),
    path: `${T}.CSIPluginConfig`,
    says: /host_volume/,
  },
  {
    name: 'a CSI volume',
    job: withGroup({
      Volumes: {
        data: {
          Type: 'csi',
          Source: 'db',
          AccessMode: 'single-node-writer',
          AttachmentMode: 'file-system',
        },
      },
    }),
    path: `${G}.Volumes[data].Type`,
    says: /type = "host"/,
  },
  {
    name: 'mount options of a host volume',
    job: withGroup({
      Volumes: { data: { Type: 'host', Source: 'data', MountOptions: { FSType: 'ext4' } } },
    }),
    path: `${G}.Volumes[data].MountOptions`,
    says: /host volumes cannot have mount options/,
  },
  {
    name: 'an SELinux label',
    job: withGroup({
      Volumes: { data: { Type: 'host', Source: 'data' } },
      Tasks: [
        aTask({ VolumeMounts: [{ Volume: 'data', Destination: '/data', SELinuxLabel: 'z' }] }),
      ],
    }),
    path: `${T}.VolumeMounts[0].SELinuxLabel`,
    says: /label the directory/,
  },
  {
    name: 'an external catalogue',
    job: withService({ Provider: 'discovery' }),
    path: `${G}.Services[0].Provider`,
    says: /provider = "service", the built-in catalogue/,
  },
  {
    name: 'a service mesh',
    job: withService({ Connect: { SidecarService: {} } }),
    path: `${G}.Services[0].Connect`,
    says: /find the addresses of services/,
  },
  {
    name: 'an identity of a service',
    job: withService({ Identity: { Audience: ['x'] } }),
    path: `${G}.Services[0].Identity`,
    says: /variables with a template block/,
  },
  {
    name: 'a cluster of an external catalogue',
    job: withService({ Cluster: 'other' }),
    path: `${G}.Services[0].Cluster`,
    says: /remove the argument/,
  },
  {
    name: 'a check that a mesh exposes',
    job: withCheck({ Expose: true }),
    path: `${G}.Services[0].Checks[0].Expose`,
    says: /service mesh/,
  },
  {
    name: 'failures before a warning',
    job: withCheck({ FailuresBeforeWarning: 3 }),
    path: `${G}.Services[0].Checks[0].FailuresBeforeWarning`,
    says: /use failures_before_critical/,
  },
  {
    name: 'an unknown protocol',
    job: withCheck({ Type: 'http', Path: '/', Protocol: 'gopher' }),
    path: `${G}.Services[0].Checks[0].Protocol`,
    says: /http or https, not "gopher"/,
  },
  {
    name: 'a method that is none',
    job: withCheck({ Type: 'http', Path: '/', Method: 'FOO BAR' }),
    path: `${G}.Services[0].Checks[0].Method`,
    says: /"FOO BAR" is not an HTTP method/,
  },
  ...['s3::ftp://host/b/k', 'gcs::file:///x', 'hg::http://h/r'].map((source) => ({
    name: `an artifact from ${source}`,
    job: withArtifact(source),
    path: `${T}.Artifacts[0].GetterSource`,
    says: /cannot be fetched: use an https:\/\/ address/,
  })),
  {
    name: 'an artifact without a scheme',
    job: withArtifact('host/file'),
    path: `${T}.Artifacts[0].GetterSource`,
    says: /without a scheme/,
  },
  {
    name: 'a schedule without cron',
    job: withTask({ Schedule: { Cron: null } }),
    path: `${T}.Schedule.Cron`,
    says: /a cron block is required/,
  },
  {
    name: 'a schedule with a start that is none',
    job: withSchedule('nonsense', '0 4'),
    path: `${T}.Schedule.Cron`,
    says: /invalid start "nonsense"/,
  },
  {
    name: 'a schedule with an end that is none',
    job: withSchedule('0 3 * * *', '4'),
    path: `${T}.Schedule.Cron`,
    says: /a minute and an hour are required/,
  },
  {
    name: 'a schedule of an unknown zone',
    job: withSchedule('0 3 * * *', '0 4', 'Mars/Base'),
    path: `${T}.Schedule.Cron.Timezone`,
    says: /unknown time zone/,
  },
]

for (const { name, job, path, says } of rejections)
  test(`rejected: ${name}`, () => {
    const { list } = validateJob(job)
    assert.deepEqual(
      list.map((found) => found.path),
      [path],
    )
    assert.match(list[0]?.message ?? '', says)
  })

const accepted: readonly { name: string; job: Job }[] = [
  { name: 'a default identity that nothing shows', job: withTask({ Identity: {} }) },
  { name: 'the cluster that other systems name', job: withService({ Cluster: 'default' }) },
  { name: 'a check over https', job: withCheck({ Type: 'http', Path: '/', Protocol: 'HTTPS' }) },
  { name: 'a gRPC check', job: withCheck({ Type: 'grpc', GRPCService: 'shop' }) },
  { name: 'a method of a reference', job: withCheck({ Type: 'http', Path: '/', Method: '${m}' }) },
  ...[
    'http://host/x',
    'https://host/x',
    'git::https://host/x',
    'git@host:org/repo',
    'ssh://git@host/x',
    'file:///srv/x',
    '${meta.mirror}/x',
  ].map((source) => ({ name: `an artifact from ${source}`, job: withArtifact(source) })),
  { name: 'a schedule', job: withSchedule('30 9 * * MON-FRI *', '0 16', 'America/New_York') },
  { name: 'a schedule of the zone of the node', job: withSchedule('@daily', '0 16', 'Local') },
]
for (const { name, job } of accepted)
  test(`accepted: ${name}`, () => assert.deepEqual(validateJob(job).list, []))

const MESSAGE = 'Group "app": '
const warned: readonly { name: string; job: Job; want: readonly string[] }[] = [
  {
    name: 'stagger, beyond its default',
    job: withGroup({ Update: { Stagger: 5 * SECOND } }),
    want: ['update: stagger has no effect, min_healthy_time sets the pace of an update'],
  },
  { name: 'nothing for the default of stagger', job: withGroup({ Update: {} }), want: [] },
  {
    name: 'render_templates',
    job: withGroup({ RestartPolicy: { RenderTemplates: true } }),
    want: ['restart: render_templates has no effect, templates are rendered at every start'],
  },
  {
    name: 'nothing for the modes of a host volume, which select a dynamic one',
    job: withGroup({
      Volumes: {
        data: {
          Type: 'host',
          Source: 'data',
          AccessMode: 'single-node-writer',
          AttachmentMode: 'file-system',
        },
      },
    }),
    want: [],
  },
  {
    name: 'addresses of a network',
    job: withGroup({
      Networks: [{ Device: 'eth0', CIDR: '10.0.0.0/8', IP: '10.0.0.1', CNI: { Args: { a: 'b' } } }],
    }),
    want: [
      'network: device has no effect, choose the address with host_network of a port',
      'network: cidr has no effect, choose the address with host_network of a port',
      'network: ip has no effect, choose the address with host_network of a port',
      'network: cni has no effect unless mode is "cni/<name>"',
    ],
  },
  {
    name: 'what the built-in catalogue does not know',
    job: withService({
      Weights: { Passing: 1, Warning: 1 },
      TaggedAddresses: { lan: '10.0.0.1' },
      EnableTagOverride: true,
    }),
    want: [
      'service "api": weights has no effect in the built-in catalogue',
      'service "api": tagged_addresses has no effect in the built-in catalogue',
      'service "api": enable_tag_override has no effect in the built-in catalogue',
    ],
  },
  {
    name: 'arguments of checks of another type',
    job: withCheck({ Type: 'tcp', Path: '/', Command: '/bin/true', GRPCService: 'x' }),
    want: [
      'service "api": path has no effect on checks of type tcp',
      'service "api": command has no effect on checks of type tcp',
      'service "api": grpc_service has no effect on checks of type tcp',
    ],
  },
  {
    name: 'an identity without use',
    job: withTask({ Identity: {} }),
    want: ['Task "main": identity has no effect, workload identity tokens are not supported'],
  },
  {
    name: 'numa beyond require',
    job: withTask({ Resources: { NUMA: { Affinity: 'prefer', Devices: ['a/b'] } } }),
    want: [
      'Task "main": numa: affinity = "prefer" has no effect, nodes do not report their topology',
      'Task "main": numa: devices has no effect, nodes do not report their topology',
    ],
  },
  {
    name: 'nothing for what only describes',
    job: withService({ Meta: { a: 'b' }, CanaryMeta: { a: 'b' }, Kind: 'api' }),
    want: [],
  },
]
for (const { name, job, want } of warned)
  test(`warned about: ${name}`, () => {
    assert.deepEqual(
      jobWarnings(job),
      want.map((text) => `${MESSAGE}${text}`),
    )
  })
