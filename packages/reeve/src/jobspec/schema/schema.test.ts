import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJobFile } from '../parse-job-file.ts'
import { JOB } from './job.ts'
import type { BlockMapping } from './block-mapping.ts'

/**
 * The syntax of each block, the location of its record, and each attribute with its kind and field.
 * Written independently of the parser's mappings.
 */
interface BlockCase {
  /** Block headers from the outermost to the innermost. */
  readonly within: readonly string[]
  readonly at: string
  readonly rows: readonly string[]
}

const MIGRATION = [
  'max_parallel int MaxParallel',
  'health_check text HealthCheck',
  'min_healthy_time duration MinHealthyTime',
  'healthy_deadline duration HealthyDeadline',
]
const UPDATE = [
  ...MIGRATION,
  'progress_deadline duration ProgressDeadline',
  'auto_revert bool AutoRevert',
  'auto_promote bool AutoPromote',
  'canary int Canary',
  'stagger duration Stagger',
]
const RESCHEDULE = [
  'attempts int Attempts',
  'interval duration Interval',
  'delay duration Delay',
  'delay_function text DelayFunction',
  'max_delay duration MaxDelay',
  'unlimited bool Unlimited',
]
const RESTART = [
  'attempts int Attempts',
  'interval duration Interval',
  'delay duration Delay',
  'mode text Mode',
  'render_templates bool RenderTemplates',
]
const COMPARISON = [
  'attribute text LTarget',
  'operator text Operand',
  'value text RTarget',
  'version text RTarget',
  'semver text RTarget',
  'regexp text RTarget',
  'set_contains text RTarget',
  'set_contains_any text RTarget',
  'set_contains_all text RTarget',
  'is_set text LTarget',
  'is_not_set text LTarget',
]
const CONSTRAINT = [...COMPARISON, 'distinct_property text LTarget']
const AFFINITY = [...COMPARISON, 'weight int Weight']
const SCALING = ['min int Min', 'max int Max', 'enabled bool Enabled', 'type text Type']
const DISCOVERY = ['namespace text Namespace', 'cluster text Cluster', 'partition text Partition']
const IDENTITY = [
  'name text Name',
  'aud texts Audience',
  'env bool Env',
  'file bool File',
  'filepath text Filepath',
  'change_mode text ChangeMode',
  'change_signal text ChangeSignal',
  'ttl duration TTL',
  'service_name text ServiceName',
]
const SECRET_STORE = [
  'policies texts Policies',
  'role text Role',
  'namespace text Namespace',
  'cluster text Cluster',
  'env bool Env',
  'disable_file bool DisableFile',
  'change_mode text ChangeMode',
  'change_signal text ChangeSignal',
  'allow_token_expiration bool AllowTokenExpiration',
]
const SECRET = ['provider text Provider', 'path text Path', 'env textMap Env']
const NETWORK = [
  'mode text Mode',
  'hostname text Hostname',
  'mbits int MBits',
  'device text Device',
  'cidr text CIDR',
  'ip text IP',
]
const PORT = ['to int To', 'host_network text HostNetwork', 'ignore_collision bool IgnoreCollision']
const SERVICE = [
  'name text Name',
  'provider text Provider',
  'port text PortLabel',
  'tags texts Tags',
  'canary_tags texts CanaryTags',
  'address text Address',
  'address_mode text AddressMode',
  'task text TaskName',
  'meta textMap Meta',
  'canary_meta textMap CanaryMeta',
  'tagged_addresses textMap TaggedAddresses',
  'on_update text OnUpdate',
  'enable_tag_override bool EnableTagOverride',
  'kind text Kind',
  'cluster text Cluster',
]
const CHECK = [
  'name text Name',
  'type text Type',
  'command text Command',
  'args texts Args',
  'path text Path',
  'protocol text Protocol',
  'port text PortLabel',
  'interval duration Interval',
  'timeout duration Timeout',
  'initial_status text InitialStatus',
  'method text Method',
  'body text Body',
  'header textsMap Header',
  'tls_skip_verify bool TLSSkipVerify',
  'tls_server_name text TLSServerName',
  'address_mode text AddressMode',
  'task text TaskName',
  'on_update text OnUpdate',
  'success_before_passing int SuccessBeforePassing',
  'failures_before_critical int FailuresBeforeCritical',
  'failures_before_warning int FailuresBeforeWarning',
  'grpc_service text GRPCService',
  'grpc_use_tls bool GRPCUseTLS',
  'expose bool Expose',
  'notes text Notes',
]
const CHECK_RESTART = [
  'limit int Limit',
  'grace duration Grace',
  'ignore_warnings bool IgnoreWarnings',
]
const VOLUME = [
  'type text Type',
  'source text Source',
  'read_only bool ReadOnly',
  'sticky bool Sticky',
  'per_alloc bool PerAlloc',
  'access_mode text AccessMode',
  'attachment_mode text AttachmentMode',
]
const TASK = [
  'driver text Driver',
  'user text User',
  'env textMap Env',
  'meta textMap Meta',
  'kill_timeout duration KillTimeout',
  'kill_signal text KillSignal',
  'shutdown_delay duration ShutdownDelay',
  'leader bool Leader',
  'kind text Kind',
]
const RESOURCES = [
  'cpu int CPU',
  'cores int Cores',
  'memory int MemoryMB',
  'memory_max int MemoryMaxMB',
  'secrets int SecretsMB',
  'disk int DiskMB',
  'iops int IOPS',
]
const ARTIFACT = [
  'source text GetterSource',
  'options textMap GetterOptions',
  'headers textMap GetterHeaders',
  'mode text GetterMode',
  'insecure bool GetterInsecure',
  'destination text RelativeDest',
  'chown bool Chown',
]
const TEMPLATE = [
  'source text SourcePath',
  'destination text DestPath',
  'data text EmbeddedTmpl',
  'change_mode text ChangeMode',
  'change_signal text ChangeSignal',
  'once bool Once',
  'splay duration Splay',
  'perms text Perms',
  'uid int Uid',
  'gid int Gid',
  'left_delimiter text LeftDelim',
  'right_delimiter text RightDelim',
  'env bool Envvars',
  'error_on_missing_key bool ErrMissingKey',
]
const CHANGE_SCRIPT = [
  'command text Command',
  'args texts Args',
  'timeout duration Timeout',
  'fail_on_error bool FailOnError',
  'run_on_first_render bool RunOnFirstRender',
]
const CSI_PLUGIN = [
  'id text ID',
  'type text Type',
  'mount_dir text MountDir',
  'stage_publish_base_dir text StagePublishBaseDir',
  'health_timeout duration HealthTimeout',
]

const CRON = ['start text Start', 'end text End', 'timezone text Timezone']
const CHECK_WEIGHTS = ['passing int Passing', 'warning int Warning']
const DNS = ['servers texts Servers', 'searches texts Searches', 'options texts Options']
const SPREAD = ['attribute text Attribute', 'weight int Weight']
const TARGET = ['percent int Percent']

function inJob(within: readonly string[], at: string, rows: readonly string[]): BlockCase {
  return { within, at, rows }
}
function inGroup(within: readonly string[], at: string, rows: readonly string[]): BlockCase {
  return { within: ['group "g"', ...within], at: `TaskGroups.0.${at}`, rows }
}
function inTask(within: readonly string[], at: string, rows: readonly string[]): BlockCase {
  return inGroup(['task "t"', ...within], `Tasks.0.${at}`, rows)
}

/** Blocks that may appear in both a job and a group, or in both a group and a task. */
function placement(make: typeof inJob): readonly BlockCase[] {
  return [
    make(['constraint'], 'Constraints.0', CONSTRAINT),
    make(['affinity'], 'Affinities.0', AFFINITY),
  ]
}
function network(make: typeof inJob, within: readonly string[], at: string): readonly BlockCase[] {
  return [
    make([...within, 'network'], `${at}Networks.0`, NETWORK),
    make([...within, 'network', 'dns'], `${at}Networks.0.DNS`, DNS),
    make([...within, 'network', 'cni'], `${at}Networks.0.CNI`, ['args textMap Args']),
    make([...within, 'network', 'port "p"'], `${at}Networks.0.DynamicPorts.0`, PORT),
    make([...within, 'network', 'port "p"'], `${at}Networks.0.ReservedPorts.0`, [
      'static int Value',
    ]),
  ]
}
function service(make: typeof inJob): readonly BlockCase[] {
  return [
    make(['service'], 'Services.0', SERVICE),
    make(['service', 'check'], 'Services.0.Checks.0', CHECK),
    make(['service', 'check', 'check_restart'], 'Services.0.Checks.0.CheckRestart', CHECK_RESTART),
    make(['service', 'weights'], 'Services.0.Weights', CHECK_WEIGHTS),
    make(['service', 'identity'], 'Services.0.Identity', IDENTITY),
  ]
}

const cases: readonly BlockCase[] = [
  inJob([], '', [
    'id text ID',
    'name text Name',
    'region text Region',
    'namespace text Namespace',
    'type text Type',
    'priority int Priority',
    'all_at_once bool AllAtOnce',
    'datacenters texts Datacenters',
    'node_pool text NodePool',
    'meta textMap Meta',
  ]),
  ...placement(inJob),
  inJob(['spread'], 'Spreads.0', SPREAD),
  inJob(['spread', 'target "v"'], 'Spreads.0.SpreadTarget.0', TARGET),
  inJob(['update'], 'Update', UPDATE),
  inJob(['migrate'], 'Migrate', MIGRATION),
  inJob(['reschedule'], 'Reschedule', RESCHEDULE),
  inJob(['periodic'], 'Periodic', [
    'cron text Spec',
    'crons texts Specs',
    'prohibit_overlap bool ProhibitOverlap',
    'time_zone text TimeZone',
    'enabled bool Enabled',
  ]),
  inJob(['parameterized'], 'ParameterizedJob', [
    'payload text Payload',
    'meta_required texts MetaRequired',
    'meta_optional texts MetaOptional',
  ]),
  inJob(['multiregion', 'strategy'], 'Multiregion.Strategy', [
    'max_parallel int MaxParallel',
    'on_failure text OnFailure',
  ]),
  inJob(['multiregion', 'region "r"'], 'Multiregion.Regions.0', [
    'count int Count',
    'datacenters texts Datacenters',
    'node_pool text NodePool',
    'meta textMap Meta',
  ]),
  inJob(['ui'], 'UI', ['description text Description']),
  inJob(['ui', 'link'], 'UI.Links.0', ['label text Label', 'url text URL']),
  inGroup([], '', [
    'count int Count',
    'meta textMap Meta',
    'shutdown_delay duration ShutdownDelay',
    'max_run_duration duration MaxRunDuration',
    'max_client_disconnect duration MaxClientDisconnect',
    'stop_after_client_disconnect duration StopAfterClientDisconnect',
    'prevent_reschedule_on_lost bool PreventRescheduleOnLost',
  ]),
  ...placement(inGroup),
  inGroup(['spread'], 'Spreads.0', SPREAD),
  inGroup(['spread', 'target "v"'], 'Spreads.0.SpreadTarget.0', TARGET),
  inGroup(['restart'], 'RestartPolicy', RESTART),
  inGroup(['reschedule'], 'ReschedulePolicy', RESCHEDULE),
  inGroup(['update'], 'Update', UPDATE),
  inGroup(['migrate'], 'Migrate', MIGRATION),
  inGroup(['disconnect'], 'Disconnect', [
    'lost_after duration LostAfter',
    'stop_on_client_after duration StopOnClientAfter',
    'replace bool Replace',
    'reconcile text Reconcile',
  ]),
  inGroup(['ephemeral_disk'], 'EphemeralDisk', [
    'sticky bool Sticky',
    'migrate bool Migrate',
    'size int SizeMB',
  ]),
  ...network(inGroup, [], ''),
  ...service(inGroup),
  inGroup(['volume "v"'], 'Volumes.v', VOLUME),
  inGroup(['volume "v"', 'mount_options'], 'Volumes.v.MountOptions', [
    'fs_type text FSType',
    'mount_flags texts MountFlags',
  ]),
  inGroup(['scaling'], 'Scaling', SCALING),
  inGroup(['discovery'], 'Discovery', DISCOVERY),
  inTask([], '', TASK),
  ...placement(inTask),
  inTask(['resources'], 'Resources', RESOURCES),
  ...network(inTask, ['resources'], 'Resources.'),
  inTask(['resources', 'device "d"'], 'Resources.Devices.0', ['count int Count']),
  inTask(
    ['resources', 'device "d"', 'constraint'],
    'Resources.Devices.0.Constraints.0',
    CONSTRAINT,
  ),
  inTask(['resources', 'device "d"', 'affinity'], 'Resources.Devices.0.Affinities.0', AFFINITY),
  inTask(['resources', 'numa'], 'Resources.NUMA', [
    'affinity text Affinity',
    'devices texts Devices',
  ]),
  inTask(['restart'], 'RestartPolicy', RESTART),
  inTask(['lifecycle'], 'Lifecycle', ['hook text Hook', 'sidecar bool Sidecar']),
  inTask(['logs'], 'LogConfig', [
    'max_files int MaxFiles',
    'max_file_size int MaxFileSizeMB',
    'disabled bool Disabled',
  ]),
  inTask(['artifact'], 'Artifacts.0', ARTIFACT),
  inTask(['template'], 'Templates.0', TEMPLATE),
  inTask(['template', 'change_script'], 'Templates.0.ChangeScript', CHANGE_SCRIPT),
  inTask(['template', 'wait'], 'Templates.0.Wait', ['min duration Min', 'max duration Max']),
  ...service(inTask),
  inTask(['volume_mount'], 'VolumeMounts.0', [
    'volume text Volume',
    'destination text Destination',
    'read_only bool ReadOnly',
    'propagation_mode text PropagationMode',
    'selinux_label text SELinuxLabel',
  ]),
  inTask(['dispatch_payload'], 'DispatchPayload', ['file text File']),
  inTask(['secret_store'], 'SecretStore', SECRET_STORE),
  inTask(['secret "s"'], 'Secrets.0', SECRET),
  inTask(['identity'], 'Identities.0', ['name text Name']),
  inTask(['identity'], 'Identity', IDENTITY.slice(1)),
  inTask(['csi_plugin'], 'CSIPluginConfig', CSI_PLUGIN),
  inTask(['action "a"'], 'Actions.0', ['command text Command', 'args texts Args']),
  inTask(['scaling "cpu"'], 'ScalingPolicies.0', SCALING),
  inTask(['schedule', 'cron'], 'Schedule.Cron', CRON),
  inTask(['discovery'], 'Discovery', DISCOVERY),
  // Copied to the tasks.
  inGroup(['task "t" {}\nsecret_store'], 'Tasks.0.SecretStore', SECRET_STORE),
  inGroup(['task "t" {}\nsecret "s"'], 'Tasks.0.Secrets.0', SECRET),
  inJob(['task "t" {}\nsecret_store'], 'TaskGroups.0.Tasks.0.SecretStore', SECRET_STORE),
  inJob(['task "t" {}\nsecret "s"'], 'TaskGroups.0.Tasks.0.Secrets.0', SECRET),
]

/** Source text and resulting value of each kind. */
const SAMPLES: Readonly<Record<string, readonly [string, unknown]>> = {
  text: ['"x y"', 'x y'],
  int: ['"7"', 7],
  bool: ['true', true],
  duration: ['"1m30s"', 90e9],
  texts: ['["a", "b"]', ['a', 'b']],
  textMap: ['{ a = 1, "b.c" = true }', { a: '1', 'b.c': 'true' }],
  textsMap: ['{ a = ["b"] }', { a: ['b'] }],
}

function read(text: string): unknown {
  const random = { next: () => 0 }
  const result = parseJobFile({ file: 'input.hcl', text, strict: true, files: undefined, random })
  assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
  return result.value.job
}

function wrap(within: readonly string[], inner: string): string {
  const headers = ['job "j"', ...within]
  return headers.reduceRight((body, header) => `${header} {\n${body}\n}\n`, inner)
}

function pick(value: unknown, path: string): unknown {
  return path
    .split('.')
    .filter((name) => name !== '')
    .reduce<unknown>((at, name) => Reflect.get(Object(at), name), value)
}

for (const { within, at, rows } of cases)
  for (const row of rows) {
    const [name = '', kind = '', field = ''] = row.split(' ')
    const place = [...within, name].join(' / ').replaceAll('\n', ' ')
    test(`schema: ${place} becomes ${field}`, () => {
      const [source, wanted] = SAMPLES[kind] ?? ['', undefined]
      const job = read(wrap(within, `${name} = ${source}`))
      assert.deepEqual(pick(pick(job, at), field), wanted)
      if (kind !== 'textMap' && kind !== 'textsMap') return
      const asBlock = kind === 'textMap' ? '\na = 1\n' : '\na = ["b"]\n'
      const value = pick(pick(read(wrap(within, `${name} {${asBlock}}`)), at), field)
      assert.deepEqual(value, kind === 'textMap' ? { a: '1' } : { a: ['b'] })
    })
  }

test('schema: the list above has every attribute of the tables', () => {
  const listed = new Set(
    cases.flatMap(({ within, rows }) => {
      const place = within.map((header) => header.split('\n').at(-1)?.split(' ')[0] ?? '')
      return rows.map((row) => [...place, row.split(' ')[0] ?? ''].join('/'))
    }),
  )
  // Tested separately, because their fields are elsewhere in the job.
  const elsewhere =
    /(?:distinct_hosts|logs\/enabled|^(?:group\/)?(?:task\/)?service\/check_restart\/.*)$/
  const missing = namesIn(JOB, '').filter((name) => !listed.has(name) && !elsewhere.test(name))
  // A task directly inside a job uses the same mapping as a task in a group.
  assert.deepEqual(
    missing.filter((name) => !name.startsWith('task/')),
    [],
  )
})

function namesIn(table: BlockMapping, prefix: string): readonly string[] {
  const own = Object.keys(table.attributes).map((name) => `${prefix}${name}`)
  const inner = Object.entries(table.blocks).flatMap(([type, row]) =>
    row.form === 'free' ? [] : namesIn(row.table, `${prefix}${type}/`),
  )
  return [...own, ...inner]
}

test('schema: opaque blocks are read as values', () => {
  const body = 'a = 1\nb = [true, null]\nc {\n d = "x"\n}\ne "f" "g" {\n h = { i = 2 }\n}\n'
  const value = { a: 1, b: [true, null], c: [{ d: 'x' }], e: [{ f: { g: { h: { i: 2 } } } }] }
  const places = [
    ['group "g"', 'task "t"', 'config', 'TaskGroups.0.Tasks.0.Config'],
    ['group "g"', 'task "t"', 'secret "s"', 'config', 'TaskGroups.0.Tasks.0.Secrets.0.Config'],
    ['group "g"', 'scaling', 'policy', 'TaskGroups.0.Scaling.Policy'],
    ['group "g"', 'service', 'connect', 'TaskGroups.0.Services.0.Connect'],
  ]
  for (const place of places) {
    const job = read(wrap(place.slice(0, -1), body))
    assert.deepEqual(pick(job, place.at(-1) ?? ''), value)
  }
})

test('schema: labels become names', () => {
  const inner = [
    'network {\n port "http" {}\n}',
    'volume "data" {}',
    'spread {\n target "dc1" {}\n}',
    'task "t" {\n action "a" {}\n secret "s" {}\n scaling "mem" {}\n resources {\n device "gpu" ' +
      '{}\n }\n}',
  ]
  const job = read(
    `job "j" {\n multiregion {\n region "eu" {}\n}\n group "g" {\n${inner.join('\n')}\n}\n}`,
  )
  const paths = {
    'TaskGroups.0.Name': 'g',
    'TaskGroups.0.Networks.0.DynamicPorts.0.Label': 'http',
    'TaskGroups.0.Volumes.data.Name': 'data',
    'TaskGroups.0.Spreads.0.SpreadTarget.0.Value': 'dc1',
    'TaskGroups.0.Tasks.0.Name': 't',
    'TaskGroups.0.Tasks.0.Actions.0.Name': 'a',
    'TaskGroups.0.Tasks.0.Secrets.0.Name': 's',
    'TaskGroups.0.Tasks.0.ScalingPolicies.0.Type': 'vertical_mem',
    'TaskGroups.0.Tasks.0.Resources.Devices.0.Name': 'gpu',
    'Multiregion.Regions.0.Name': 'eu',
  }
  for (const [path, name] of Object.entries(paths)) assert.equal(pick(job, path), name, path)
})
