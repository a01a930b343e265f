import * as t from './shared-schemas.ts'
import { Affinity, Constraint } from './constraint.ts'
import { DiscoveryBlock, WorkloadIdentity } from './identity.ts'
import { NetworkResource } from './network.ts'
import { ScalingPolicy } from './scaling-policy.ts'
import { Service } from './service.ts'

export const RestartPolicy = t.Object(
  {
    Attempts: t.Integer({ description: 'Restarts allowed within `Interval`.' }),
    Interval: t.Nanoseconds(),
    Delay: t.Nanoseconds('Time before each restart.'),
    Mode: t.String({ description: 'Action after the last attempt: `fail` or `delay`.' }),
    RenderTemplates: t.Boolean({ description: 'Render templates again at each restart.' }),
  },
  { $id: 'RestartPolicy', description: 'How a task that ended is started again on its node.' },
)
export type RestartPolicy = t.Infer<typeof RestartPolicy>

export const RequestedDevice = t.Named('RequestedDevice', {
  Name: t.String({ description: '`type`, `vendor/type` or `vendor/type/model`.' }),
  Count: t.Integer({ default: 1 }),
  Constraints: t.Nullable(t.Array(Constraint)),
  Affinities: t.Nullable(t.Array(Affinity)),
})
export type RequestedDevice = t.Infer<typeof RequestedDevice>

export const NumaPreference = t.Named('NumaPreference', {
  Affinity: t.String({ description: '`none`, `prefer` or `require`.' }),
  Devices: t.Nullable(t.Array(t.String())),
})
export type NumaPreference = t.Infer<typeof NumaPreference>

/** Resources that one task requests. */
export const Resources = t.Named('Resources', 'Resources that one task requests.', {
  CPU: t.Integer({ description: 'Share of the processor, in MHz.', default: 100 }),
  Cores: t.Integer({ description: 'Whole cores to reserve; excludes `CPU`.' }),
  MemoryMB: t.Integer({ default: 300 }),
  MemoryMaxMB: t.Integer({ description: 'Limit above `MemoryMB`; 0 none given, -1 no limit.' }),
  DiskMB: t.Integer(),
  IOPS: t.Integer(),
  SecretsMB: t.Integer({ description: 'Size of the secrets directory.' }),
  Networks: t.Nullable(t.Array(NetworkResource)),
  Devices: t.Nullable(t.Array(RequestedDevice)),
  NUMA: t.Nullable(NumaPreference),
})
export type Resources = t.Infer<typeof Resources>

export const LogConfig = t.Named('LogConfig', {
  Disabled: t.Boolean(),
  MaxFiles: t.Integer({ default: 10 }),
  MaxFileSizeMB: t.Integer({ default: 10 }),
})
export type LogConfig = t.Infer<typeof LogConfig>

export const LIFECYCLE_HOOKS = ['prestart', 'poststart', 'poststop'] as const
export type LifecycleHook = (typeof LIFECYCLE_HOOKS)[number]

export const TaskLifecycle = t.Named('TaskLifecycle', {
  Hook: t.String({ description: '`prestart`, `poststart` or `poststop`.' }),
  Sidecar: t.Boolean({ description: 'Keeps running beside the main tasks.' }),
})
export type TaskLifecycle = t.Infer<typeof TaskLifecycle>

export const DispatchPayload = t.Named('DispatchPayload', {
  File: t.String({ description: 'Where the payload of the dispatch is written.' }),
})
export type DispatchPayload = t.Infer<typeof DispatchPayload>

export const TaskArtifact = t.Named(
  'TaskArtifact',
  'Something to download before the task starts.',
  {
    GetterSource: t.String(),
    GetterOptions: t.Nullable(t.MapOf(t.String())),
    GetterHeaders: t.Nullable(t.MapOf(t.String())),
    GetterMode: t.String({ description: '`any`, `file` or `dir`.', default: 'any' }),
    GetterInsecure: t.Boolean(),
    RelativeDest: t.String({ default: 'local/' }),
    Chown: t.Boolean(),
  },
)
export type TaskArtifact = t.Infer<typeof TaskArtifact>

export const ChangeScript = t.Named('ChangeScript', {
  Command: t.String(),
  Args: t.Nullable(t.Array(t.String())),
  Timeout: t.Nanoseconds(),
  FailOnError: t.Boolean(),
  RunOnFirstRender: t.Boolean(),
})
export type ChangeScript = t.Infer<typeof ChangeScript>

export const TemplateWait = t.Named('TemplateWait', {
  Min: t.Nullable(t.Nanoseconds()),
  Max: t.Nullable(t.Nanoseconds()),
})
export type TemplateWait = t.Infer<typeof TemplateWait>

export const Template = t.Named('Template', 'A file rendered for the task.', {
  SourcePath: t.String(),
  DestPath: t.String(),
  EmbeddedTmpl: t.String(),
  ChangeMode: t.String({ description: '`restart`, `noop`, `signal` or `script`.' }),
  ChangeSignal: t.String(),
  ChangeScript: t.Nullable(ChangeScript),
  Once: t.Boolean(),
  Splay: t.Nanoseconds('Upper bound of a random delay before the change is acted on.'),
  Perms: t.String({ default: '0644' }),
  Uid: t.Nullable(t.Integer()),
  Gid: t.Nullable(t.Integer()),
  LeftDelim: t.String({ default: '{{' }),
  RightDelim: t.String({ default: '}}' }),
  Envvars: t.Boolean({ description: 'The rendered text holds environment variables.' }),
  Wait: t.Nullable(TemplateWait),
  ErrMissingKey: t.Boolean(),
})
export type Template = t.Infer<typeof Template>

export const VolumeMount = t.Named('VolumeMount', {
  Volume: t.String({ description: 'Name of a volume of the group.' }),
  Destination: t.String(),
  ReadOnly: t.Boolean(),
  PropagationMode: t.String({ default: 'private' }),
  SELinuxLabel: t.String(),
})
export type VolumeMount = t.Infer<typeof VolumeMount>

export const CsiPluginConfig = t.Named('CsiPluginConfig', {
  ID: t.String(),
  Type: t.String(),
  MountDir: t.String(),
  StagePublishBaseDir: t.String(),
  HealthTimeout: t.Nanoseconds(),
})
export type CsiPluginConfig = t.Infer<typeof CsiPluginConfig>

export const SecretStoreBlock = t.Object(
  {
    Policies: t.Nullable(t.Array(t.String(), { description: 'The older way to name a role.' })),
    Role: t.String(),
    Namespace: t.String(),
    Cluster: t.String(),
    Env: t.Boolean({ default: true }),
    DisableFile: t.Boolean(),
    ChangeMode: t.String({ default: 'restart' }),
    ChangeSignal: t.String(),
    AllowTokenExpiration: t.Boolean(),
  },
  { $id: 'SecretStoreBlock', description: 'How the task reaches an external secret store.' },
)
export type SecretStoreBlock = t.Infer<typeof SecretStoreBlock>

export const TaskSecret = t.Named('TaskSecret', {
  Name: t.String(),
  Provider: t.String(),
  Path: t.String(),
  Config: t.Nullable(t.OpaqueObject('Settings of the provider.')),
  Env: t.Nullable(t.MapOf(t.String())),
})
export type TaskSecret = t.Infer<typeof TaskSecret>

export const TaskAction = t.Named(
  'TaskAction',
  'A named command that may be run inside the task.',
  { Name: t.String(), Command: t.String(), Args: t.Nullable(t.Array(t.String())) },
)
export type TaskAction = t.Infer<typeof TaskAction>

export const TaskSchedule = t.Named(
  'TaskSchedule',
  'The times of day during which the task runs.',
  { Cron: t.Nullable(t.Object({ Start: t.String(), End: t.String(), Timezone: t.String() })) },
)
export type TaskSchedule = t.Infer<typeof TaskSchedule>

export const Task = t.Named('Task', 'One process, container or other thing that a driver runs.', {
  Name: t.String(),
  Driver: t.String(),
  User: t.String(),
  Config: t.Nullable(t.OpaqueObject('Settings of the driver; keys keep their case.')),
  Env: t.Nullable(t.MapOf(t.String())),
  Services: t.Nullable(t.Array(Service)),
  Templates: t.Nullable(t.Array(Template)),
  Constraints: t.Nullable(t.Array(Constraint)),
  Affinities: t.Nullable(t.Array(Affinity)),
  Resources: Resources,
  RestartPolicy: RestartPolicy,
  DispatchPayload: t.Nullable(DispatchPayload),
  Meta: t.Nullable(t.MapOf(t.String())),
  KillTimeout: t.Nanoseconds('Time between the kill signal and the forced end.'),
  KillSignal: t.String(),
  Kind: t.String(),
  LogConfig: LogConfig,
  Artifacts: t.Nullable(t.Array(TaskArtifact)),
  Leader: t.Boolean({ description: 'When this task ends, the others of the group end too.' }),
  Lifecycle: t.Nullable(TaskLifecycle),
  ShutdownDelay: t.Nanoseconds('Time between leaving the catalogue and the kill signal.'),
  ScalingPolicies: t.Nullable(t.Array(ScalingPolicy)),
  CSIPluginConfig: t.Nullable(CsiPluginConfig),
  VolumeMounts: t.Nullable(t.Array(VolumeMount)),
  SecretStore: t.Nullable(SecretStoreBlock),
  Secrets: t.Nullable(t.Array(TaskSecret)),
  Discovery: t.Nullable(DiscoveryBlock),
  Identity: t.Nullable(WorkloadIdentity),
  Identities: t.Nullable(t.Array(WorkloadIdentity)),
  Actions: t.Nullable(t.Array(TaskAction)),
  Schedule: t.Nullable(TaskSchedule),
})
export type Task = t.Infer<typeof Task>
