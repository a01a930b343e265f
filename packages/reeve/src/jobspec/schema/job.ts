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
import { setDefault, type RecordBuilder } from '../build/record-builder.ts'
import {
  moveSecretsToGroups,
  defaultJobName,
  wrapTasksInGroups,
  moveSecretsToTasks,
} from '../build/normalize.ts'
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
