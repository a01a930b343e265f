import type {
  ChangeScript,
  CsiPluginConfig,
  DisconnectStrategy,
  DiscoveryBlock,
  DispatchPayload,
  EphemeralDisk,
  Job,
  JobLink,
  JobUi,
  LogConfig,
  MigrateStrategy,
  Multiregion,
  MultiregionRegion,
  MultiregionStrategy,
  NumaPreference,
  ParameterizedJobConfig,
  PeriodicConfig,
  RequestedDevice,
  ReschedulePolicy,
  Resources,
  RestartPolicy,
  ScalingPolicy,
  SecretStoreBlock,
  Task,
  TaskAction,
  TaskArtifact,
  TaskGroup,
  TaskLifecycle,
  TaskSchedule,
  TaskSecret,
  Template,
  TemplateWait,
  UpdateStrategy,
  VolumeMount,
  VolumeMountOptions,
  VolumeRequest,
} from '@reeve/contract'
import {
  affinities,
  byField,
  constraints,
  IDENTITY,
  networks,
  objectRule,
  objectsRule,
  rulesOf,
  services,
  spreads,
  stringList,
  stringSet,
  treeRule,
} from './rules.ts'

const PERIODIC = rulesOf<PeriodicConfig>({
  Enabled: 'field',
  Spec: 'field',
  Specs: stringSet,
  SpecType: 'field',
  ProhibitOverlap: 'field',
  TimeZone: 'field',
})

const PARAMETERIZED = rulesOf<ParameterizedJobConfig>({
  Payload: 'field',
  MetaRequired: stringSet,
  MetaOptional: stringSet,
})

const REGION = rulesOf<MultiregionRegion>({
  Name: 'field',
  Count: 'field',
  Datacenters: stringSet,
  NodePool: 'field',
  Meta: 'entries',
})

const MULTIREGION = rulesOf<Multiregion>({
  Strategy: objectRule(rulesOf<MultiregionStrategy>({ MaxParallel: 'field', OnFailure: 'field' })),
  Regions: objectsRule('Region', REGION, byField('Name')),
})

const UI = rulesOf<JobUi>({
  Description: 'field',
  Links: objectsRule('Link', rulesOf<JobLink>({ Label: 'field', URL: 'field' }), byField('Label')),
})

/**
 * Rules of a job. Fields set by servers are not compared; `Update`, `Migrate` and `Reschedule` are
 * compared in the groups, where they apply; tokens are never stored.
 */
export const JOB = rulesOf<Job>({
  Region: 'field',
  Namespace: 'field',
  ID: 'unseen',
  ParentID: 'field',
  Name: 'field',
  Type: 'field',
  Priority: 'field',
  AllAtOnce: 'field',
  Datacenters: stringSet,
  NodePool: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  TaskGroups: 'nested',
  Update: 'unseen',
  Multiregion: objectRule(MULTIREGION),
  Periodic: objectRule(PERIODIC),
  ParameterizedJob: objectRule(PARAMETERIZED),
  Dispatched: 'field',
  DispatchIdempotencyToken: 'field',
  Payload: 'field',
  Meta: 'entries',
  Migrate: 'unseen',
  Reschedule: 'unseen',
  DiscoveryToken: 'unseen',
  DiscoveryNamespace: 'field',
  SecretStoreToken: 'unseen',
  SecretStoreNamespace: 'field',
  ServiceTokenID: 'unseen',
  Stop: 'field',
  Status: 'unseen',
  StatusDescription: 'unseen',
  Stable: 'unseen',
  Version: 'unseen',
  VersionTag: 'unseen',
  UI: objectRule(UI),
  SubmitTime: 'unseen',
  CreateIndex: 'unseen',
  ModifyIndex: 'unseen',
  JobModifyIndex: 'unseen',
  Quarantine: 'unseen',
  NodeLosses: 'unseen',
  SubmittedBy: 'unseen',
  Origin: 'unseen',
  Message: 'unseen',
})

/** `Stagger` is not compared: it has no effect any more. */
const UPDATE = rulesOf<UpdateStrategy>({
  Stagger: 'unseen',
  MaxParallel: 'field',
  HealthCheck: 'field',
  MinHealthyTime: 'field',
  HealthyDeadline: 'field',
  ProgressDeadline: 'field',
  AutoRevert: 'field',
  AutoPromote: 'field',
  Canary: 'field',
})

const MIGRATE = rulesOf<MigrateStrategy>({
  MaxParallel: 'field',
  HealthCheck: 'field',
  MinHealthyTime: 'field',
  HealthyDeadline: 'field',
})

const RESCHEDULE = rulesOf<ReschedulePolicy>({
  Attempts: 'field',
  Interval: 'field',
  Delay: 'field',
  DelayFunction: 'field',
  MaxDelay: 'field',
  Unlimited: 'field',
})

const VOLUME = rulesOf<VolumeRequest>({
  Name: 'field',
  Type: 'field',
  Source: 'field',
  ReadOnly: 'field',
  Sticky: 'field',
  AccessMode: 'field',
  AttachmentMode: 'field',
  MountOptions: objectRule(rulesOf<VolumeMountOptions>({ FSType: 'field', MountFlags: stringSet })),
  PerAlloc: 'field',
})

const DISCONNECT = rulesOf<DisconnectStrategy>({
  LostAfter: 'field',
  StopOnClientAfter: 'field',
  Replace: 'field',
  Reconcile: 'field',
})

const DISK = rulesOf<EphemeralDisk>({ Sticky: 'field', SizeMB: 'field', Migrate: 'field' })

const RESTART = rulesOf<RestartPolicy>({
  Attempts: 'field',
  Interval: 'field',
  Delay: 'field',
  Mode: 'field',
  RenderTemplates: 'field',
})

/** The ID is assigned at registration; the target is the group or task of the policy. */
const SCALING = rulesOf<ScalingPolicy>({
  ID: 'unseen',
  Enabled: 'field',
  Type: 'field',
  Target: 'unseen',
  CreateIndex: 'unseen',
  ModifyIndex: 'unseen',
  Policy: treeRule,
  Min: 'field',
  Max: 'field',
})

const DISCOVERY = rulesOf<DiscoveryBlock>({
  Namespace: 'field',
  Cluster: 'field',
  Partition: 'field',
})

/** Groups are matched by name. */
export const GROUP = rulesOf<TaskGroup>({
  Name: 'unseen',
  Count: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  RestartPolicy: objectRule(RESTART),
  ReschedulePolicy: objectRule(RESCHEDULE),
  Migrate: objectRule(MIGRATE),
  Update: objectRule(UPDATE),
  EphemeralDisk: objectRule(DISK),
  Networks: networks,
  Services: services,
  Scaling: objectRule(SCALING),
  Disconnect: objectRule(DISCONNECT),
  ShutdownDelay: 'field',
  StopAfterClientDisconnect: 'field',
  MaxClientDisconnect: 'field',
  MaxRunDuration: 'field',
  PreventRescheduleOnLost: 'field',
  Volumes: objectsRule('Volume', VOLUME, byField('Name')),
  Discovery: objectRule(DISCOVERY),
  Meta: 'entries',
  Tasks: 'nested',
})

const DEVICE = rulesOf<RequestedDevice>({
  Name: 'field',
  Count: 'field',
  Constraints: constraints,
  Affinities: affinities,
})

const RESOURCES = rulesOf<Resources>({
  CPU: 'field',
  Cores: 'field',
  MemoryMB: 'field',
  MemoryMaxMB: 'field',
  DiskMB: 'field',
  IOPS: 'field',
  SecretsMB: 'field',
  Networks: networks,
  Devices: objectsRule('Device', DEVICE, byField('Name')),
  NUMA: objectRule(rulesOf<NumaPreference>({ Affinity: 'field', Devices: stringSet })),
})

const ARTIFACT = rulesOf<TaskArtifact>({
  GetterSource: 'field',
  GetterOptions: 'entries',
  GetterHeaders: 'entries',
  GetterMode: 'field',
  GetterInsecure: 'field',
  RelativeDest: 'field',
  Chown: 'field',
})

const TEMPLATE = rulesOf<Template>({
  SourcePath: 'field',
  DestPath: 'field',
  EmbeddedTmpl: 'field',
  ChangeMode: 'field',
  ChangeSignal: 'field',
  ChangeScript: objectRule(
    rulesOf<ChangeScript>({
      Command: 'field',
      Args: stringList,
      Timeout: 'field',
      FailOnError: 'field',
      RunOnFirstRender: 'field',
    }),
  ),
  Once: 'field',
  Splay: 'field',
  Perms: 'field',
  Uid: 'field',
  Gid: 'field',
  LeftDelim: 'field',
  RightDelim: 'field',
  Envvars: 'field',
  Wait: objectRule(rulesOf<TemplateWait>({ Min: 'field', Max: 'field' })),
  ErrMissingKey: 'field',
})

const VOLUME_MOUNT = rulesOf<VolumeMount>({
  Volume: 'field',
  Destination: 'field',
  ReadOnly: 'field',
  PropagationMode: 'field',
  SELinuxLabel: 'field',
})

const STORAGE_PLUGIN = rulesOf<CsiPluginConfig>({
  ID: 'field',
  Type: 'field',
  MountDir: 'field',
  StagePublishBaseDir: 'field',
  HealthTimeout: 'field',
})

const SECRET_STORE = rulesOf<SecretStoreBlock>({
  Policies: stringSet,
  Role: 'field',
  Namespace: 'field',
  Cluster: 'field',
  Env: 'field',
  DisableFile: 'field',
  ChangeMode: 'field',
  ChangeSignal: 'field',
  AllowTokenExpiration: 'field',
})

const SECRET = rulesOf<TaskSecret>({
  Name: 'field',
  Provider: 'field',
  Path: 'field',
  Config: treeRule,
  Env: 'entries',
})

const CRON = rulesOf<NonNullable<TaskSchedule['Cron']>>({
  Start: 'field',
  End: 'field',
  Timezone: 'field',
})

/** Tasks are matched by name. */
export const TASK = rulesOf<Task>({
  Name: 'unseen',
  Driver: 'field',
  User: 'field',
  Config: treeRule,
  Env: 'entries',
  Services: services,
  Templates: objectsRule('Template', TEMPLATE, byField('DestPath')),
  Constraints: constraints,
  Affinities: affinities,
  Resources: objectRule(RESOURCES),
  RestartPolicy: objectRule(RESTART),
  DispatchPayload: objectRule(rulesOf<DispatchPayload>({ File: 'field' })),
  Meta: 'entries',
  KillTimeout: 'field',
  KillSignal: 'field',
  Kind: 'field',
  LogConfig: objectRule(
    rulesOf<LogConfig>({ Disabled: 'field', MaxFiles: 'field', MaxFileSizeMB: 'field' }),
  ),
  Artifacts: objectsRule('Artifact', ARTIFACT, byField('RelativeDest')),
  Leader: 'field',
  Lifecycle: objectRule(rulesOf<TaskLifecycle>({ Hook: 'field', Sidecar: 'field' })),
  ShutdownDelay: 'field',
  ScalingPolicies: objectsRule('Scaling', SCALING, byField('Type')),
  CSIPluginConfig: objectRule(STORAGE_PLUGIN),
  VolumeMounts: objectsRule('VolumeMount', VOLUME_MOUNT, byField('Destination')),
  SecretStore: objectRule(SECRET_STORE),
  Secrets: objectsRule('Secret', SECRET, byField('Name')),
  Discovery: objectRule(DISCOVERY),
  Identity: objectRule(IDENTITY),
  Identities: objectsRule('Identity', IDENTITY, byField('Name')),
  Actions: objectsRule(
    'Action',
    rulesOf<TaskAction>({ Name: 'field', Command: 'field', Args: stringList }),
    byField('Name'),
  ),
  Schedule: objectRule(rulesOf<TaskSchedule>({ Cron: objectRule(CRON) })),
})
