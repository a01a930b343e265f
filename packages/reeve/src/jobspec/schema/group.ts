import { TaskGroup, VolumeMountOptions, VolumeRequest } from '@reeve/contract'
import { moveSecretsToTasks } from '../build/normalize.ts'
import { DISCOVERY, SECRET, SECRET_STORE } from './identity.ts'
import { NETWORK } from './network.ts'
import { PLACEMENT_RULES } from './placement.ts'
import {
  DISCONNECT,
  EPHEMERAL_DISK,
  GROUP_SCALING,
  MIGRATE,
  RESCHEDULE,
  RESTART,
  UPDATE,
} from './policies.ts'
import { SERVICE } from './service.ts'
import {
  bool,
  duration,
  int,
  many,
  map,
  one,
  mapBlock,
  string,
  stringMap,
  stringList,
} from './table.ts'
import { TASK } from './task.ts'

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

export const GROUP = mapBlock(TaskGroup, {
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
