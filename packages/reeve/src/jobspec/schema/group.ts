import { TaskGroup, VolumeMountOptions, VolumeRequest } from '@reeve/contract'
import { giveSecretsToTasks } from '../build/normalize.ts'
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
import { bool, duration, int, many, map, one, tableOf, text, textMap, texts } from './table.ts'
import { TASK } from './task.ts'

const MOUNT_OPTIONS = tableOf(VolumeMountOptions, {
  attributes: { fs_type: text('FSType'), mount_flags: texts('MountFlags') },
})

const VOLUME = tableOf(VolumeRequest, {
  label: 'Name',
  attributes: {
    type: text('Type'),
    source: text('Source'),
    read_only: bool('ReadOnly'),
    sticky: bool('Sticky'),
    per_alloc: bool('PerAlloc'),
    access_mode: text('AccessMode'),
    attachment_mode: text('AttachmentMode'),
  },
  blocks: { mount_options: one('MountOptions', MOUNT_OPTIONS) },
})

export const GROUP = tableOf(TaskGroup, {
  label: 'Name',
  attributes: {
    count: int('Count'),
    meta: textMap('Meta'),
    shutdown_delay: duration('ShutdownDelay'),
    max_run_duration: duration('MaxRunDuration'),
    max_client_disconnect: duration('MaxClientDisconnect'),
    stop_after_client_disconnect: duration('StopAfterClientDisconnect'),
    prevent_reschedule_on_lost: bool('PreventRescheduleOnLost'),
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
  finish: giveSecretsToTasks,
})
