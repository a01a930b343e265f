import { Type } from 'typebox'
import { Named, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { Affinity, Constraint } from './constraint.ts'
import { OpaqueObject } from './shared-schemas.ts'
import { DiscoveryBlock, WorkloadIdentity } from './identity.ts'
import { NetworkResource } from './network.ts'
import { ScalingPolicy } from './scaling-policy.ts'
import { Service } from './service.ts'

export const RestartPolicy = Type.Object(
  {
    Attempts: Type.Integer({ description: 'Restarts allowed within `Interval`.' }),
    Interval: Nanoseconds(),
    Delay: Nanoseconds('Time before each restart.'),
    Mode: Type.String({ description: 'Action after the last attempt: `fail` or `delay`.' }),
    RenderTemplates: Type.Boolean({ description: 'Render templates again at each restart.' }),
  },
  { $id: 'RestartPolicy', description: 'How a task that ended is started again on its node.' },
)
export type RestartPolicy = Infer<typeof RestartPolicy>

export const RequestedDevice = Named('RequestedDevice', {
  Name: Type.String({ description: '`type`, `vendor/type` or `vendor/type/model`.' }),
  Count: Type.Integer({ default: 1 }),
  Constraints: Nullable(Type.Array(Constraint)),
  Affinities: Nullable(Type.Array(Affinity)),
})
export type RequestedDevice = Infer<typeof RequestedDevice>

export const NumaPreference = Named('NumaPreference', {
  Affinity: Type.String({ description: '`none`, `prefer` or `require`.' }),
  Devices: Nullable(Type.Array(Type.String())),
})
export type NumaPreference = Infer<typeof NumaPreference>

/** Resources that one task requests. */
export const Resources = Named('Resources', 'Resources that one task requests.', {
  CPU: Type.Integer({ description: 'Share of the processor, in MHz.', default: 100 }),
  Cores: Type.Integer({ description: 'Whole cores to reserve; excludes `CPU`.' }),
  MemoryMB: Type.Integer({ default: 300 }),
  MemoryMaxMB: Type.Integer({ description: 'Limit above `MemoryMB`; 0 none given, -1 no limit.' }),
  DiskMB: Type.Integer(),
  IOPS: Type.Integer(),
  SecretsMB: Type.Integer({ description: 'Size of the secrets directory.' }),
  Networks: Nullable(Type.Array(NetworkResource)),
  Devices: Nullable(Type.Array(RequestedDevice)),
  NUMA: Nullable(NumaPreference),
})
export type Resources = Infer<typeof Resources>

export const LogConfig = Named('LogConfig', {
  Disabled: Type.Boolean(),
  MaxFiles: Type.Integer({ default: 10 }),
  MaxFileSizeMB: Type.Integer({ default: 10 }),
})
export type LogConfig = Infer<typeof LogConfig>

export const LIFECYCLE_HOOKS = ['prestart', 'poststart', 'poststop'] as const
export type LifecycleHook = (typeof LIFECYCLE_HOOKS)[number]

export const TaskLifecycle = Named('TaskLifecycle', {
  Hook: Type.String({ description: '`prestart`, `poststart` or `poststop`.' }),
  Sidecar: Type.Boolean({ description: 'Keeps running beside the main tasks.' }),
})
export type TaskLifecycle = Infer<typeof TaskLifecycle>

export const DispatchPayload = Named('DispatchPayload', {
  File: Type.String({ description: 'Where the payload of the dispatch is written.' }),
})
export type DispatchPayload = Infer<typeof DispatchPayload>

export const TaskArtifact = Named('TaskArtifact', 'Something to download before the task starts.', {
  GetterSource: Type.String(),
  GetterOptions: Nullable(MapOf(Type.String())),
  GetterHeaders: Nullable(MapOf(Type.String())),
  GetterMode: Type.String({ description: '`any`, `file` or `dir`.', default: 'any' }),
  GetterInsecure: Type.Boolean(),
  RelativeDest: Type.String({ default: 'local/' }),
  Chown: Type.Boolean(),
})
export type TaskArtifact = Infer<typeof TaskArtifact>

export const ChangeScript = Named('ChangeScript', {
  Command: Type.String(),
  Args: Nullable(Type.Array(Type.String())),
  Timeout: Nanoseconds(),
  FailOnError: Type.Boolean(),
  RunOnFirstRender: Type.Boolean(),
})
export type ChangeScript = Infer<typeof ChangeScript>

export const TemplateWait = Named('TemplateWait', {
  Min: Nullable(Nanoseconds()),
  Max: Nullable(Nanoseconds()),
})
export type TemplateWait = Infer<typeof TemplateWait>

export const Template = Named('Template', 'A file rendered for the task.', {
  SourcePath: Type.String(),
  DestPath: Type.String(),
  EmbeddedTmpl: Type.String(),
  ChangeMode: Type.String({ description: '`restart`, `noop`, `signal` or `script`.' }),
  ChangeSignal: Type.String(),
  ChangeScript: Nullable(ChangeScript),
  Once: Type.Boolean(),
  Splay: Nanoseconds('Upper bound of a random delay before the change is acted on.'),
  Perms: Type.String({ default: '0644' }),
  Uid: Nullable(Type.Integer()),
  Gid: Nullable(Type.Integer()),
  LeftDelim: Type.String({ default: '{{' }),
  RightDelim: Type.String({ default: '}}' }),
  Envvars: Type.Boolean({ description: 'The rendered text holds environment variables.' }),
  Wait: Nullable(TemplateWait),
  ErrMissingKey: Type.Boolean(),
})
export type Template = Infer<typeof Template>

export const VolumeMount = Named('VolumeMount', {
  Volume: Type.String({ description: 'Name of a volume of the group.' }),
  Destination: Type.String(),
  ReadOnly: Type.Boolean(),
  PropagationMode: Type.String({ default: 'private' }),
  SELinuxLabel: Type.String(),
})
export type VolumeMount = Infer<typeof VolumeMount>

export const CsiPluginConfig = Named('CsiPluginConfig', {
  ID: Type.String(),
  Type: Type.String(),
  MountDir: Type.String(),
  StagePublishBaseDir: Type.String(),
  HealthTimeout: Nanoseconds(),
})
export type CsiPluginConfig = Infer<typeof CsiPluginConfig>

export const SecretStoreBlock = Type.Object(
  {
    Policies: Nullable(Type.Array(Type.String(), { description: 'The older way to name a role.' })),
    Role: Type.String(),
    Namespace: Type.String(),
    Cluster: Type.String(),
    Env: Type.Boolean({ default: true }),
    DisableFile: Type.Boolean(),
    ChangeMode: Type.String({ default: 'restart' }),
    ChangeSignal: Type.String(),
    AllowTokenExpiration: Type.Boolean(),
  },
  { $id: 'SecretStoreBlock', description: 'How the task reaches an external secret store.' },
)
export type SecretStoreBlock = Infer<typeof SecretStoreBlock>

export const TaskSecret = Named('TaskSecret', {
  Name: Type.String(),
  Provider: Type.String(),
  Path: Type.String(),
  Config: Nullable(OpaqueObject('Settings of the provider.')),
  Env: Nullable(MapOf(Type.String())),
})
export type TaskSecret = Infer<typeof TaskSecret>

export const TaskAction = Named('TaskAction', 'A named command that may be run inside the task.', {
  Name: Type.String(),
  Command: Type.String(),
  Args: Nullable(Type.Array(Type.String())),
})
export type TaskAction = Infer<typeof TaskAction>

export const TaskSchedule = Named('TaskSchedule', 'The times of day during which the task runs.', {
  Cron: Nullable(
    Type.Object({ Start: Type.String(), End: Type.String(), Timezone: Type.String() }),
  ),
})
export type TaskSchedule = Infer<typeof TaskSchedule>

export const Task = Named('Task', 'One process, container or other thing that a driver runs.', {
  Name: Type.String(),
  Driver: Type.String(),
  User: Type.String(),
  Config: Nullable(OpaqueObject('Settings of the driver; keys keep their case.')),
  Env: Nullable(MapOf(Type.String())),
  Services: Nullable(Type.Array(Service)),
  Templates: Nullable(Type.Array(Template)),
  Constraints: Nullable(Type.Array(Constraint)),
  Affinities: Nullable(Type.Array(Affinity)),
  Resources: Resources,
  RestartPolicy: RestartPolicy,
  DispatchPayload: Nullable(DispatchPayload),
  Meta: Nullable(MapOf(Type.String())),
  KillTimeout: Nanoseconds('Time between the kill signal and the forced end.'),
  KillSignal: Type.String(),
  Kind: Type.String(),
  LogConfig: LogConfig,
  Artifacts: Nullable(Type.Array(TaskArtifact)),
  Leader: Type.Boolean({ description: 'When this task ends, the others of the group end too.' }),
  Lifecycle: Nullable(TaskLifecycle),
  ShutdownDelay: Nanoseconds('Time between leaving the catalogue and the kill signal.'),
  ScalingPolicies: Nullable(Type.Array(ScalingPolicy)),
  CSIPluginConfig: Nullable(CsiPluginConfig),
  VolumeMounts: Nullable(Type.Array(VolumeMount)),
  SecretStore: Nullable(SecretStoreBlock),
  Secrets: Nullable(Type.Array(TaskSecret)),
  Discovery: Nullable(DiscoveryBlock),
  Identity: Nullable(WorkloadIdentity),
  Identities: Nullable(Type.Array(WorkloadIdentity)),
  Actions: Nullable(Type.Array(TaskAction)),
  Schedule: Nullable(TaskSchedule),
})
export type Task = Infer<typeof Task>
