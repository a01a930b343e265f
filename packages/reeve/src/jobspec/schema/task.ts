import {
  CsiPluginConfig,
  DispatchPayload,
  LogConfig,
  NumaPreference,
  RequestedDevice,
  Resources,
  Task,
  TaskAction,
  TaskLifecycle,
  TaskSchedule,
  VolumeMount,
} from '@reeve/contract'
import { warningAt } from '@reeve/hcl'
import { put, refuse, take, type Draft } from '../build/draft.ts'
import { note } from '../findings.ts'
import { isRecord, recordsOf } from '../json.ts'
import { ARTIFACT, TEMPLATE } from './file.ts'
import { DISCOVERY, IDENTITY, SECRET, SECRET_STORE } from './identity.ts'
import { NETWORK } from './network.ts'
import { NODE_RULES } from './placement.ts'
import { RESTART, TASK_SCALING } from './policies.ts'
import { SERVICE } from './service.ts'
import { bool, duration, free, int, many, one, tableOf, text, textMap, texts } from './table.ts'

const DEVICE = tableOf(RequestedDevice, {
  label: 'Name',
  attributes: { count: int('Count') },
  blocks: NODE_RULES,
})

const NUMA = tableOf(NumaPreference, {
  attributes: { affinity: text('Affinity'), devices: texts('Devices') },
})

const RESOURCES = tableOf(Resources, {
  attributes: {
    cpu: int('CPU'),
    cores: int('Cores'),
    memory: int('MemoryMB'),
    memory_max: int('MemoryMaxMB'),
    secrets: int('SecretsMB'),
    disk: int('DiskMB'),
    iops: int('IOPS'),
  },
  blocks: {
    network: many('Networks', NETWORK),
    device: many('Devices', DEVICE),
    numa: one('NUMA', NUMA),
  },
})

const LOGS = tableOf(LogConfig, {
  attributes: {
    max_files: int('MaxFiles'),
    max_file_size: int('MaxFileSizeMB'),
    disabled: bool('Disabled'),
    enabled: bool('@enabled'),
  },
  finish: invertEnabled,
})

/** The older spelling says the opposite; the newer one wins. */
function invertEnabled(draft: Draft): void {
  const enabled = take(draft, '@enabled')
  if (typeof enabled !== 'boolean') return
  const span = draft.marks.get('@enabled')?.span ?? draft.span
  const detail = 'The argument "enabled" of logs is deprecated; use "disabled".'
  note(draft.building.findings, () => warningAt(span, 'Deprecated argument', detail))
  if (!draft.values.has('Disabled')) put(draft, 'Disabled', { value: !enabled, from: '@enabled' })
}

const LIFECYCLE = tableOf(TaskLifecycle, {
  attributes: { hook: text('Hook'), sidecar: bool('Sidecar') },
})

const DISPATCH_PAYLOAD = tableOf(DispatchPayload, { attributes: { file: text('File') } })

const VOLUME_MOUNT = tableOf(VolumeMount, {
  attributes: {
    volume: text('Volume'),
    destination: text('Destination'),
    read_only: bool('ReadOnly'),
    propagation_mode: text('PropagationMode'),
    selinux_label: text('SELinuxLabel'),
  },
})

const CSI_PLUGIN = tableOf(CsiPluginConfig, {
  attributes: {
    id: text('ID'),
    type: text('Type'),
    mount_dir: text('MountDir'),
    stage_publish_base_dir: text('StagePublishBaseDir'),
    health_timeout: duration('HealthTimeout'),
  },
})

const ACTION = tableOf(TaskAction, {
  label: 'Name',
  attributes: { command: text('Command'), args: texts('Args') },
})

const CRON = tableOf(
  { properties: { Start: true, End: true, Timezone: true } },
  { attributes: { start: text('Start'), end: text('End'), timezone: text('Timezone') } },
)

const SCHEDULE = tableOf(TaskSchedule, { blocks: { cron: one('Cron', CRON) } })

export const TASK = tableOf(Task, {
  label: 'Name',
  attributes: {
    driver: text('Driver'),
    user: text('User'),
    env: textMap('Env'),
    meta: textMap('Meta'),
    kill_timeout: duration('KillTimeout'),
    kill_signal: text('KillSignal'),
    shutdown_delay: duration('ShutdownDelay'),
    leader: bool('Leader'),
    kind: text('Kind'),
  },
  blocks: {
    ...NODE_RULES,
    config: free('Config'),
    resources: one('Resources', RESOURCES),
    restart: one('RestartPolicy', RESTART),
    lifecycle: one('Lifecycle', LIFECYCLE),
    logs: one('LogConfig', LOGS),
    artifact: many('Artifacts', ARTIFACT),
    template: many('Templates', TEMPLATE),
    service: many('Services', SERVICE),
    volume_mount: many('VolumeMounts', VOLUME_MOUNT),
    dispatch_payload: one('DispatchPayload', DISPATCH_PAYLOAD),
    secret_store: one('SecretStore', SECRET_STORE),
    secret: many('Secrets', SECRET),
    identity: many('@identities', IDENTITY),
    csi_plugin: one('CSIPluginConfig', CSI_PLUGIN),
    action: many('Actions', ACTION),
    scaling: many('ScalingPolicies', TASK_SCALING),
    schedule: one('Schedule', SCHEDULE),
    discovery: one('Discovery', DISCOVERY),
  },
  finish: (draft) => {
    dropEmptyLifecycle(draft)
    divideIdentities(draft)
  },
})

function dropEmptyLifecycle(draft: Draft): void {
  const lifecycle = draft.values.get('Lifecycle')
  if (isRecord(lifecycle) && Object.values(lifecycle).every((value) => value === null))
    draft.values.delete('Lifecycle')
}

/** The identity without a name, or named `default`, has a field of its own. */
function divideIdentities(draft: Draft): void {
  const identities = recordsOf(take(draft, '@identities'))
  const isDefault = (name: unknown) => name === null || name === '' || name === 'default'
  const [first, second] = identities.filter((identity) => isDefault(identity['Name']))
  const named = identities.filter((identity) => !isDefault(identity['Name']))
  if (first !== undefined) put(draft, 'Identity', { value: first, from: '@identities' })
  if (named.length > 0) put(draft, 'Identities', { value: named, from: '@identities' })
  if (second === undefined) return
  const detail = 'A task has one identity without a name, or named "default"; name the others.'
  refuse(draft, '@identities', { summary: 'Duplicate identity', detail })
}
