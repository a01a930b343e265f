import type {
  CsiPluginConfig,
  Input,
  LogConfig,
  NumaPreference,
  RequestedDevice,
  Resources,
  RestartPolicy,
  SecretStoreBlock,
  Task,
  TaskLifecycle,
  TaskSchedule,
  TaskSecret,
  VolumeMount,
  WorkloadIdentity,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import { nodeRules } from './canonicalize-constraint.ts'
import { canonicalizeArtifact, canonicalizeTemplate } from './canonicalize-file.ts'
import { canonicalizeDiscovery, canonicalizeIdentity } from './canonicalize-identity.ts'
import { canonicalizeNetwork } from './canonicalize-network.ts'
import { canonicalizeScaling } from './canonicalize-scaling.ts'
import { canonicalizeService, type ServiceParent } from './canonicalize-service.ts'
import {
  fillUnset,
  isUnset,
  listOrNull,
  opaqueOrNull,
  textMapOrNull,
  textOr,
  textsOrNull,
} from './unset.ts'

const CPU_MHZ_DEFAULT = 100
const MEMORY_MB_DEFAULT = 300
const KILL_TIMEOUT_NS_DEFAULT = nsFromMs(5_000)
/** Default timeout for the health of a storage plugin. */
const PLUGIN_HEALTH_NS_DEFAULT = nsFromMs(30_000)

const LOG_CONFIG: LogConfig = { Disabled: false, MaxFiles: 10, MaxFileSizeMB: 10 }
const VOLUME_MOUNT: VolumeMount = {
  Volume: '',
  Destination: '',
  ReadOnly: false,
  PropagationMode: 'private',
  SELinuxLabel: '',
}

/** The properties of a group that its tasks inherit. */
export interface GroupParent extends ServiceParent {
  readonly restart: RestartPolicy
  readonly target: Readonly<Record<string, string>>
}

export function canonicalizeTask(input: Input<Task>, group: GroupParent): Task {
  const name = input.Name ?? ''
  const parent = { ...group, task: name }
  const scaling = { type: '', min: 0, target: { ...group.target, Task: name } }
  return {
    Name: name,
    Driver: input.Driver ?? '',
    User: input.User ?? '',
    Config: opaqueOrNull(input.Config),
    Env: textMapOrNull(input.Env),
    Services: listOrNull(input.Services, (service) => canonicalizeService(service, parent)),
    Templates: listOrNull(input.Templates, canonicalizeTemplate),
    ...nodeRules(input),
    Resources: resources(input.Resources ?? {}),
    RestartPolicy: fillUnset(group.restart, input.RestartPolicy),
    DispatchPayload: isUnset(input.DispatchPayload)
      ? null
      : { File: input.DispatchPayload.File ?? '' },
    Meta: textMapOrNull(input.Meta),
    KillTimeout: input.KillTimeout ?? KILL_TIMEOUT_NS_DEFAULT,
    KillSignal: canonicalSignalName(input.KillSignal ?? ''),
    Kind: input.Kind ?? '',
    LogConfig: fillUnset(LOG_CONFIG, input.LogConfig),
    Artifacts: listOrNull(input.Artifacts, canonicalizeArtifact),
    Leader: input.Leader ?? false,
    Lifecycle: lifecycle(input.Lifecycle),
    ShutdownDelay: input.ShutdownDelay ?? 0,
    ScalingPolicies: listOrNull(input.ScalingPolicies, (policy) =>
      canonicalizeScaling(policy, scaling),
    ),
    CSIPluginConfig: storagePlugin(input.CSIPluginConfig),
    VolumeMounts: listOrNull(input.VolumeMounts, (mount) => fillUnset(VOLUME_MOUNT, mount)),
    SecretStore: secretStore(input.SecretStore),
    Secrets: listOrNull(input.Secrets, secret),
    Discovery: canonicalizeDiscovery(input.Discovery),
    ...identities(input),
    Actions: listOrNull(input.Actions, (action) => ({
      Name: action.Name ?? '',
      Command: action.Command ?? '',
      Args: textsOrNull(action.Args),
    })),
    Schedule: schedule(input.Schedule),
  }
}

/** Cores and CPU shares are mutually exclusive, so only one of them has a default. */
function resources(input: Input<Resources>): Resources {
  const cores = input.Cores ?? 0
  return {
    CPU: input.CPU ?? (cores === 0 ? CPU_MHZ_DEFAULT : 0),
    Cores: cores,
    MemoryMB: input.MemoryMB ?? MEMORY_MB_DEFAULT,
    MemoryMaxMB: input.MemoryMaxMB ?? 0,
    DiskMB: input.DiskMB ?? 0,
    IOPS: input.IOPS ?? 0,
    SecretsMB: input.SecretsMB ?? 0,
    Networks: listOrNull(input.Networks, canonicalizeNetwork),
    Devices: listOrNull(input.Devices, device),
    NUMA: numa(input.NUMA),
  }
}

function device(input: Input<RequestedDevice>): RequestedDevice {
  return { Name: input.Name ?? '', Count: input.Count ?? 1, ...nodeRules(input) }
}

function numa(input: Input<NumaPreference> | null | undefined): NumaPreference | null {
  if (isUnset(input)) return null
  return { Affinity: textOr(input.Affinity, 'none'), Devices: textsOrNull(input.Devices) }
}

/** An empty block is the same as none. */
function lifecycle(input: Input<TaskLifecycle> | null | undefined): TaskLifecycle | null {
  if (isUnset(input)) return null
  const block = fillUnset({ Hook: '', Sidecar: false }, input)
  return block.Hook === '' && !block.Sidecar ? null : block
}

function storagePlugin(input: Input<CsiPluginConfig> | null | undefined): CsiPluginConfig | null {
  if (isUnset(input)) return null
  return fillUnset(
    {
      ID: '',
      Type: '',
      MountDir: '/csi',
      StagePublishBaseDir: '/local/csi',
      HealthTimeout: PLUGIN_HEALTH_NS_DEFAULT,
    },
    input,
  )
}

function secretStore(input: Input<SecretStoreBlock> | null | undefined): SecretStoreBlock | null {
  if (isUnset(input)) return null
  return {
    Policies: textsOrNull(input.Policies),
    Role: input.Role ?? '',
    Namespace: input.Namespace ?? '',
    Cluster: textOr(input.Cluster, 'default'),
    Env: input.Env ?? true,
    DisableFile: input.DisableFile ?? false,
    ChangeMode: input.ChangeMode ?? 'restart',
    ChangeSignal: (input.ChangeSignal ?? 'SIGHUP').toUpperCase(),
    AllowTokenExpiration: input.AllowTokenExpiration ?? false,
  }
}

function secret(input: Input<TaskSecret>): TaskSecret {
  return {
    Name: input.Name ?? '',
    Provider: input.Provider ?? '',
    Path: input.Path ?? '',
    Config: opaqueOrNull(input.Config),
    Env: textMapOrNull(input.Env),
  }
}

function identities(input: Input<Task>): Pick<Task, 'Identity' | 'Identities'> {
  const named = (input.Identities ?? [])
    .map(canonicalizeIdentity)
    .filter((identity): identity is WorkloadIdentity => identity !== null)
  return {
    Identity: canonicalizeIdentity(input.Identity),
    Identities: named.length === 0 ? null : named,
  }
}

function schedule(input: Input<TaskSchedule> | null | undefined): TaskSchedule | null {
  if (isUnset(input)) return null
  return {
    Cron: isUnset(input.Cron) ? null : fillUnset({ Start: '', End: '', Timezone: '' }, input.Cron),
  }
}
