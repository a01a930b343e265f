import {
  Job,
  JobLink,
  JobUi,
  Multiregion,
  MultiregionRegion,
  MultiregionStrategy,
  ParameterizedJobConfig,
  PeriodicConfig,
  TaskGroup,
  VolumeMountOptions,
  VolumeRequest,
} from '@reeve/contract'
import { charge, errorAt, TOO_EXPENSIVE } from '@reeve/hcl'
import {
  setDefault,
  type RecordBuilder,
  copyWith,
  takePseudoField,
} from '../build/record-builder.ts'
import { report } from '../diagnostics.ts'
import { isRecord, toRecords, type JsonRecord } from '../source.ts'
import { DISCOVERY, NETWORK, SECRET, SECRET_STORE, SERVICE } from './service.ts'
import { PLACEMENT_RULES } from './placement.ts'
import {
  DISCONNECT,
  EPHEMERAL_DISK,
  GROUP_SCALING,
  MIGRATE,
  RESCHEDULE,
  RESTART,
  UPDATE,
} from './strategies.ts'
import {
  bool,
  int,
  many,
  one,
  mapBlock,
  string,
  stringMap,
  stringList,
  duration,
  map,
} from './block-mapping.ts'
import { TASK } from './task.ts'

const PERIODIC = mapBlock(PeriodicConfig, {
  attributes: {
    cron: string(
      'Spec',
      'One cron expression: minute, hour, day of month, month, day of week; six fields begin ' +
        'with seconds, seven end with the year. Either `cron` or `crons` is required.',
    ),
    crons: stringList(
      'Specs',
      'Several cron expressions, at most 64; the job is launched at the times of all of them.',
    ),
    prohibit_overlap: bool(
      'ProhibitOverlap',
      'Skips a launch while the previous one is still running.',
    ),
    time_zone: string('TimeZone', 'Time zone of the expressions, a name such as `Europe/Berlin`.'),
    enabled: bool(
      'Enabled',
      'Whether the job is launched on schedule. `reeve job periodic force` launches it in ' +
        'either case.',
    ),
  },
  finish: setSpecType,
})

function setSpecType(draft: RecordBuilder): void {
  if (draft.values.has('Spec') || draft.values.has('Specs')) setDefault(draft, 'SpecType', 'cron')
}

const PARAMETERIZED = mapBlock(ParameterizedJobConfig, {
  attributes: {
    payload: string(
      'Payload',
      'Whether a dispatch carries a payload: `optional`, `required` or `forbidden`.',
    ),
    meta_required: stringList('MetaRequired', 'Keys of `meta` that every dispatch must set.'),
    meta_optional: stringList(
      'MetaOptional',
      'Keys of `meta` that a dispatch may set. No key may be in both lists.',
    ),
  },
})

const STRATEGY = mapBlock(MultiregionStrategy, {
  attributes: {
    max_parallel: int('MaxParallel', 'Regions that deploy at the same time; 0 means all of them.'),
    on_failure: string(
      'OnFailure',
      'Action when one region fails: empty stops the regions that have not begun, ' +
        '`fail_all` fails all of them, `fail_local` fails only the one.',
    ),
  },
})

const REGION = mapBlock(MultiregionRegion, {
  label: 'Name',
  attributes: {
    count: int('Count', 'Number of allocations in this region, for groups with a count of 0.'),
    datacenters: stringList(
      'Datacenters',
      'Datacenters in this region; replaces those of the job.',
    ),
    node_pool: string('NodePool', 'Node pool in this region; replaces that of the job.'),
    meta: stringMap('Meta', 'Metadata in this region, merged over that of the job.'),
  },
})

const MULTIREGION = mapBlock(Multiregion, {
  blocks: { strategy: one('Strategy', STRATEGY), region: many('Regions', REGION) },
})

const LINK = mapBlock(JobLink, {
  attributes: {
    label: string('Label', 'Required. Text of the link.'),
    url: string('URL', 'Required. Address of the link.'),
  },
})

const UI = mapBlock(JobUi, {
  attributes: {
    description: string(
      'Description',
      'Markdown that the web UI shows on the page of the job. At most 1,000 characters.',
    ),
  },
  blocks: { link: many('Links', LINK) },
})

const MOUNT_OPTIONS = mapBlock(VolumeMountOptions, {
  attributes: {
    fs_type: string('FSType', 'File system type of the volume.'),
    mount_flags: stringList('MountFlags', 'Flags passed to `mount`.'),
  },
})

const VOLUME = mapBlock(VolumeRequest, {
  label: 'Name',
  attributes: {
    type: string(
      'Type',
      'Required. `host`: a directory of the node, from its configuration (`host_volume`) or a ' +
        'dynamic host volume.',
    ),
    source: string('Source', 'Required. Name of the volume on the nodes.'),
    read_only: bool('ReadOnly', 'Mounts the volume read-only in every task.'),
    sticky: bool(
      'Sticky',
      'Keeps each allocation on the node of its predecessor, where the volume is. While that ' +
        'node is away, the allocation waits.',
    ),
    per_alloc: bool(
      'PerAlloc',
      'Appends the index of the allocation to `source`: `data[0]`, `data[1]`. Not with `system` ' +
        'jobs, canaries or `sticky`.',
    ),
    access_mode: string(
      'AccessMode',
      'Access mode that a dynamic volume must offer. Default: `single-node-writer`, or with ' +
        '`read_only` `single-node-reader-only`. No effect on configured volumes.',
    ),
    attachment_mode: string(
      'AttachmentMode',
      'Attachment mode that a dynamic volume must offer. Default: `file-system`. No effect on ' +
        'configured volumes.',
    ),
  },
  blocks: { mount_options: one('MountOptions', MOUNT_OPTIONS) },
})

const GROUP = mapBlock(TaskGroup, {
  label: 'Name',
  attributes: {
    count: int(
      'Count',
      'Number of allocations. `system` jobs: 0 or 1 per node. All groups of a job together: at ' +
        'most 50,000.',
    ),
    meta: stringMap('Meta', 'Key-value pairs merged over those of the job.'),
    shutdown_delay: duration(
      'ShutdownDelay',
      'Time between removing the services of the group from the catalogue and stopping its tasks.',
    ),
    max_run_duration: duration(
      'MaxRunDuration',
      'Stops an allocation that runs for longer. Only `batch` and `sysbatch` jobs.',
    ),
    max_client_disconnect: duration(
      'MaxClientDisconnect',
      'Deprecated: use `lost_after` of [disconnect](disconnect.md).',
    ),
    stop_after_client_disconnect: duration(
      'StopAfterClientDisconnect',
      'Deprecated: use `stop_on_client_after` of [disconnect](disconnect.md).',
    ),
    prevent_reschedule_on_lost: bool(
      'PreventRescheduleOnLost',
      'Deprecated: use `replace` of [disconnect](disconnect.md).',
    ),
  },
  blocks: {
    ...PLACEMENT_RULES,
    task: many('Tasks', TASK),
    restart: one('RestartPolicy', RESTART),
    reschedule: one('ReschedulePolicy', RESCHEDULE),
    update: one('Update', UPDATE),
    migrate: one('Migrate', MIGRATE),
    disconnect: one('Disconnect', DISCONNECT),
    ephemeral_disk: one('EphemeralDisk', EPHEMERAL_DISK),
    network: many('Networks', NETWORK),
    service: many('Services', SERVICE),
    volume: map('Volumes', VOLUME),
    scaling: one('Scaling', GROUP_SCALING),
    secret_store: one('@secret_store', SECRET_STORE),
    secret: many('@secrets', SECRET),
    discovery: one('Discovery', DISCOVERY),
  },
  finish: moveSecretsToTasks,
})

export const JOB = mapBlock(Job, {
  label: '@label',
  attributes: {
    id: string(
      'ID',
      'ID of the job, unique in its namespace. Defaults to the label of the block. No spaces.',
    ),
    name: string('Name', 'Display name. Defaults to the ID.'),
    region: string('Region', 'Region that runs the job.'),
    namespace: string('Namespace', 'Namespace of the job. The flag `--namespace` wins over it.'),
    type: string(
      'Type',
      '`service` runs until it is stopped, `batch` runs to completion, `system` runs one ' +
        'allocation on every eligible node, `sysbatch` does the same to completion.',
    ),
    priority: int(
      'Priority',
      'Order among pending evaluations, and which allocations may be preempted. 1 to 100; ' +
        'higher is more important.',
    ),
    all_at_once: bool('AllAtOnce', 'Places all allocations of an evaluation or none.'),
    datacenters: stringList(
      'Datacenters',
      'Datacenters whose nodes are eligible. `*` matches any run of characters.',
    ),
    node_pool: string(
      'NodePool',
      'Node pool whose nodes are eligible. Defaults to the pool of the namespace.',
    ),
    meta: stringMap(
      'Meta',
      'Key-value pairs that tasks read as `REEVE_META_<key>`. Groups and tasks override them by ' +
        'key.',
    ),
  },
  blocks: {
    ...PLACEMENT_RULES,
    group: many('TaskGroups', GROUP),
    task: many('@tasks', TASK),
    update: one('Update', UPDATE),
    migrate: one('Migrate', MIGRATE),
    reschedule: one('Reschedule', RESCHEDULE),
    periodic: one('Periodic', PERIODIC),
    parameterized: one('ParameterizedJob', PARAMETERIZED),
    multiregion: one('Multiregion', MULTIREGION),
    secret_store: one('@secret_store', SECRET_STORE),
    secret: many('@secrets', SECRET),
    ui: one('UI', UI),
  },
  finish: (draft) => {
    defaultJobName(draft)
    wrapTasksInGroups(draft, GROUP.fields)
    moveSecretsToGroups(draft)
  },
})

/** Sets the ID and name of a job to its label unless they are given. */
function defaultJobName(draft: RecordBuilder): void {
  const label = takePseudoField(draft, '@label')
  if (typeof label !== 'string') return
  for (const name of ['ID', 'Name']) {
    if (draft.values.has(name)) continue
    setDefault(draft, name, label)
    draft.marks.set(name, { span: draft.span })
  }
}

/**
 * Wraps tasks directly inside a job in groups, before the other groups. `fields` are the fields of
 * a group.
 */
function wrapTasksInGroups(draft: RecordBuilder, fields: readonly string[]): void {
  const { places } = draft.building
  const tasks = toRecords(takePseudoField(draft, '@tasks'))
  if (tasks.length === 0) return
  const unset = Object.fromEntries(fields.map((name) => [name, null]))
  const wrapped = tasks.map((task) => {
    const group: JsonRecord = { ...unset, Name: task['Name'] ?? null, Tasks: [task] }
    const marks = places.get(task)
    if (marks !== undefined) places.set(group, { span: marks.span, fields: new Map() })
    return group
  })
  draft.values.set('TaskGroups', [...wrapped, ...toRecords(draft.values.get('TaskGroups'))])
}

/** Secret settings of a job or group that all its tasks inherit. */
interface SharedSecrets {
  readonly store: JsonRecord | undefined
  readonly secrets: readonly JsonRecord[]
}

function moveSecretsToTasks(draft: RecordBuilder): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const tasks = toRecords(draft.values.get('Tasks'))
  if (tasks.length > 0) draft.values.set('Tasks', withSecrets(tasks, shared, draft))
}

function moveSecretsToGroups(draft: RecordBuilder): void {
  const shared = takeSecrets(draft)
  if (shared === undefined) return
  const groups = toRecords(draft.values.get('TaskGroups')).map((group) => {
    const tasks = toRecords(group['Tasks'])
    if (tasks.length === 0) return group
    const Tasks = withSecrets(tasks, shared, draft)
    return copyWith(group, { Tasks }, draft.building.places)
  })
  if (groups.length > 0) draft.values.set('TaskGroups', groups)
}

function takeSecrets(draft: RecordBuilder): SharedSecrets | undefined {
  const store = takePseudoField(draft, '@secret_store')
  const secrets = toRecords(takePseudoField(draft, '@secrets'))
  if (store === undefined && secrets.length === 0) return undefined
  return { store: isRecord(store) ? store : undefined, secrets }
}

/** A task's own store, and its own secret of the same name, take precedence. */
function withSecrets(
  tasks: readonly JsonRecord[],
  { store, secrets }: SharedSecrets,
  { building, span }: RecordBuilder,
): readonly JsonRecord[] {
  // Tasks times secrets grows faster than the file.
  if (!charge(building.meter, tasks.length * (1 + secrets.length))) {
    const detail = 'The secrets given to all tasks are too many for the tasks.'
    // Reported once: every other group would exceed the budget too.
    if (building.findings.errors.at(-1)?.summary !== TOO_EXPENSIVE)
      report(building.findings, () => errorAt(span, TOO_EXPENSIVE, detail))
    return tasks
  }
  return tasks.map((task) => {
    const taskSecrets = toRecords(task['Secrets'])
    const names = new Set(taskSecrets.map((secret) => secret['Name']))
    const all = [...taskSecrets, ...secrets.filter((secret) => !names.has(secret['Name'] ?? null))]
    const SecretStore = task['SecretStore'] ?? store ?? null
    return copyWith(task, { SecretStore, Secrets: all.length === 0 ? null : all }, building.places)
  })
}
