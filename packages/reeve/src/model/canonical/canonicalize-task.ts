import type {
  ChangeScript,
  CsiPluginConfig,
  Input,
  LogConfig,
  NumaPreference,
  RequestedDevice,
  Resources,
  RestartPolicy,
  SecretStoreBlock,
  Task,
  TaskArtifact,
  TaskLifecycle,
  TaskSchedule,
  TaskSecret,
  Template,
  TemplateWait,
  VolumeMount,
  WorkloadIdentity,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import {
  canonicalizeConstraints,
  canonicalizeDiscovery,
  canonicalizeIdentity,
  canonicalizeNetwork,
  canonicalizeScaling,
} from './canonicalize-blocks.ts'
import { canonicalizeService, type ServiceParent } from './canonicalize-service.ts'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  opaqueOrNull,
  stringMapOrNull,
  nonEmptyOr,
  stringsOrNull,
} from './defaults.ts'

const DEFAULT_CPU_MHZ = 100
const DEFAULT_MEMORY_MB = 300
const DEFAULT_KILL_TIMEOUT_NS = nsFromMs(5_000)
/** Default timeout for the health of a storage plugin. */
const DEFAULT_PLUGIN_HEALTH_TIMEOUT_NS = nsFromMs(30_000)

const LOG_CONFIG_DEFAULTS: LogConfig = { Disabled: false, MaxFiles: 10, MaxFileSizeMB: 10 }
const VOLUME_MOUNT_DEFAULTS: VolumeMount = {
  Volume: '',
  Destination: '',
  ReadOnly: false,
  PropagationMode: 'private',
  SELinuxLabel: '',
}

/** The properties of a group that its tasks inherit. */
interface InheritedGroupFields extends ServiceParent {
  readonly restart: RestartPolicy
  readonly target: Readonly<Record<string, string>>
}

export function canonicalizeTask(input: Input<Task>, group: InheritedGroupFields): Task {
  const name = input.Name ?? ''
  const parent = { ...group, task: name }
  const scaling = { type: '', min: 0, target: { ...group.target, Task: name } }
  return {
    Name: name,
    Driver: input.Driver ?? '',
    User: input.User ?? '',
    Config: opaqueOrNull(input.Config),
    Env: stringMapOrNull(input.Env),
    Services: listOrNull(input.Services, (service) => canonicalizeService(service, parent)),
    Templates: listOrNull(input.Templates, canonicalizeTemplate),
    ...canonicalizeConstraints(input),
    Resources: canonicalizeResources(input.Resources ?? {}),
    RestartPolicy: applyDefaults(group.restart, input.RestartPolicy),
    DispatchPayload: isUnset(input.DispatchPayload)
      ? null
      : { File: input.DispatchPayload.File ?? '' },
    Meta: stringMapOrNull(input.Meta),
    KillTimeout: input.KillTimeout ?? DEFAULT_KILL_TIMEOUT_NS,
    KillSignal: canonicalSignalName(input.KillSignal ?? ''),
    Kind: input.Kind ?? '',
    LogConfig: applyDefaults(LOG_CONFIG_DEFAULTS, input.LogConfig),
    Artifacts: listOrNull(input.Artifacts, canonicalizeArtifact),
    Leader: input.Leader ?? false,
    Lifecycle: canonicalizeLifecycle(input.Lifecycle),
    ShutdownDelay: input.ShutdownDelay ?? 0,
    ScalingPolicies: listOrNull(input.ScalingPolicies, (policy) =>
      canonicalizeScaling(policy, scaling),
    ),
    CSIPluginConfig: canonicalizeStoragePlugin(input.CSIPluginConfig),
    VolumeMounts: listOrNull(input.VolumeMounts, (mount) =>
      applyDefaults(VOLUME_MOUNT_DEFAULTS, mount),
    ),
    SecretStore: canonicalizeSecretStore(input.SecretStore),
    Secrets: listOrNull(input.Secrets, canonicalizeSecret),
    Discovery: canonicalizeDiscovery(input.Discovery),
    ...canonicalizeIdentities(input),
    Actions: listOrNull(input.Actions, (action) => ({
      Name: action.Name ?? '',
      Command: action.Command ?? '',
      Args: stringsOrNull(action.Args),
    })),
    Schedule: canonicalizeSchedule(input.Schedule),
  }
}

/** Cores and CPU shares are mutually exclusive, so only one of them has a default. */
function canonicalizeResources(input: Input<Resources>): Resources {
  const cores = input.Cores ?? 0
  return {
    CPU: input.CPU ?? (cores === 0 ? DEFAULT_CPU_MHZ : 0),
    Cores: cores,
    MemoryMB: input.MemoryMB ?? DEFAULT_MEMORY_MB,
    MemoryMaxMB: input.MemoryMaxMB ?? 0,
    DiskMB: input.DiskMB ?? 0,
    IOPS: input.IOPS ?? 0,
    SecretsMB: input.SecretsMB ?? 0,
    Networks: listOrNull(input.Networks, canonicalizeNetwork),
    Devices: listOrNull(input.Devices, canonicalizeDevice),
    NUMA: canonicalizeNuma(input.NUMA),
  }
}

function canonicalizeDevice(input: Input<RequestedDevice>): RequestedDevice {
  return { Name: input.Name ?? '', Count: input.Count ?? 1, ...canonicalizeConstraints(input) }
}

function canonicalizeNuma(input: Input<NumaPreference> | null | undefined): NumaPreference | null {
  if (isUnset(input)) return null
  return { Affinity: nonEmptyOr(input.Affinity, 'none'), Devices: stringsOrNull(input.Devices) }
}

/** An empty block is the same as none. */
function canonicalizeLifecycle(
  input: Input<TaskLifecycle> | null | undefined,
): TaskLifecycle | null {
  if (isUnset(input)) return null
  const block = applyDefaults({ Hook: '', Sidecar: false }, input)
  return block.Hook === '' && !block.Sidecar ? null : block
}

function canonicalizeStoragePlugin(
  input: Input<CsiPluginConfig> | null | undefined,
): CsiPluginConfig | null {
  if (isUnset(input)) return null
  return applyDefaults(
    {
      ID: '',
      Type: '',
      MountDir: '/csi',
      StagePublishBaseDir: '/local/csi',
      HealthTimeout: DEFAULT_PLUGIN_HEALTH_TIMEOUT_NS,
    },
    input,
  )
}

function canonicalizeSecretStore(
  input: Input<SecretStoreBlock> | null | undefined,
): SecretStoreBlock | null {
  if (isUnset(input)) return null
  return {
    Policies: stringsOrNull(input.Policies),
    Role: input.Role ?? '',
    Namespace: input.Namespace ?? '',
    Cluster: nonEmptyOr(input.Cluster, 'default'),
    Env: input.Env ?? true,
    DisableFile: input.DisableFile ?? false,
    ChangeMode: input.ChangeMode ?? 'restart',
    ChangeSignal: (input.ChangeSignal ?? 'SIGHUP').toUpperCase(),
    AllowTokenExpiration: input.AllowTokenExpiration ?? false,
  }
}

function canonicalizeSecret(input: Input<TaskSecret>): TaskSecret {
  return {
    Name: input.Name ?? '',
    Provider: input.Provider ?? '',
    Path: input.Path ?? '',
    Config: opaqueOrNull(input.Config),
    Env: stringMapOrNull(input.Env),
  }
}

function canonicalizeIdentities(input: Input<Task>): Pick<Task, 'Identity' | 'Identities'> {
  const named = (input.Identities ?? [])
    .map(canonicalizeIdentity)
    .filter((identity): identity is WorkloadIdentity => identity !== null)
  return {
    Identity: canonicalizeIdentity(input.Identity),
    Identities: named.length === 0 ? null : named,
  }
}

function canonicalizeSchedule(input: Input<TaskSchedule> | null | undefined): TaskSchedule | null {
  if (isUnset(input)) return null
  return {
    Cron: isUnset(input.Cron)
      ? null
      : applyDefaults({ Start: '', End: '', Timezone: '' }, input.Cron),
  }
}

const FIVE_SECONDS_NS = nsFromMs(5_000)

function canonicalizeTemplate(input: Input<Template>): Template {
  const mode = input.ChangeMode ?? 'restart'
  return {
    SourcePath: input.SourcePath ?? '',
    DestPath: input.DestPath ?? '',
    EmbeddedTmpl: input.EmbeddedTmpl ?? '',
    ChangeMode: mode,
    ChangeSignal: canonicalSignalName(input.ChangeSignal ?? (mode === 'signal' ? 'SIGHUP' : '')),
    ChangeScript: canonicalizeChangeScript(input.ChangeScript),
    Once: input.Once ?? false,
    Splay: input.Splay ?? FIVE_SECONDS_NS,
    Perms: input.Perms ?? '0644',
    Uid: input.Uid ?? null,
    Gid: input.Gid ?? null,
    LeftDelim: input.LeftDelim ?? '{{',
    RightDelim: input.RightDelim ?? '}}',
    Envvars: input.Envvars ?? false,
    Wait: canonicalizeWait(input.Wait),
    ErrMissingKey: input.ErrMissingKey ?? false,
  }
}

function canonicalizeArtifact(input: Input<TaskArtifact>): TaskArtifact {
  const source = input.GetterSource ?? ''
  const mode = input.GetterMode ?? 'any'
  return {
    GetterSource: source,
    GetterOptions: stringMapOrNull(input.GetterOptions),
    GetterHeaders: stringMapOrNull(input.GetterHeaders),
    GetterMode: mode,
    GetterInsecure: input.GetterInsecure ?? false,
    // With mode `file` the destination is the file itself.
    RelativeDest: input.RelativeDest ?? (mode === 'file' ? `local/${baseName(source)}` : 'local/'),
    Chown: input.Chown ?? false,
  }
}

function canonicalizeChangeScript(
  input: Input<ChangeScript> | null | undefined,
): ChangeScript | null {
  if (isUnset(input)) return null
  return {
    Command: input.Command ?? '',
    Args: stringsOrNull(input.Args),
    Timeout: input.Timeout ?? FIVE_SECONDS_NS,
    FailOnError: input.FailOnError ?? false,
    RunOnFirstRender: input.RunOnFirstRender ?? false,
  }
}

function canonicalizeWait(input: Input<TemplateWait> | null | undefined): TemplateWait | null {
  if (isUnset(input)) return null
  return applyDefaults<TemplateWait>({ Min: null, Max: null }, input)
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
