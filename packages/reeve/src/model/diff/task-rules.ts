import type {
  ChangeScript,
  CsiPluginConfig,
  DiscoveryBlock,
  DispatchPayload,
  LogConfig,
  NumaPreference,
  RequestedDevice,
  Resources,
  RestartPolicy,
  ScalingPolicy,
  SecretStoreBlock,
  Task,
  TaskAction,
  TaskArtifact,
  TaskLifecycle,
  TaskSchedule,
  TaskSecret,
  Template,
  TemplateWait,
  VolumeMount,
} from '@reeve/contract'
import { networks } from './network-rules.ts'
import { affinities, constraints } from './placement-rules.ts'
import { by, list, object, objects, rulesOf, set, tree } from './rules.ts'
import { IDENTITY, services } from './service-rules.ts'

export const RESTART = rulesOf<RestartPolicy>({
  Attempts: 'field',
  Interval: 'field',
  Delay: 'field',
  Mode: 'field',
  RenderTemplates: 'field',
})

/** The id is given at registration; the target is the thing the policy stands in. */
export const SCALING = rulesOf<ScalingPolicy>({
  ID: 'unseen',
  Enabled: 'field',
  Type: 'field',
  Target: 'unseen',
  CreateIndex: 'unseen',
  ModifyIndex: 'unseen',
  Policy: tree,
  Min: 'field',
  Max: 'field',
})

export const DISCOVERY = rulesOf<DiscoveryBlock>({
  Namespace: 'field',
  Cluster: 'field',
  Partition: 'field',
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
  Devices: objects('Device', DEVICE, by('Name')),
  NUMA: object(rulesOf<NumaPreference>({ Affinity: 'field', Devices: set })),
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
  ChangeScript: object(
    rulesOf<ChangeScript>({
      Command: 'field',
      Args: list,
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
  Wait: object(rulesOf<TemplateWait>({ Min: 'field', Max: 'field' })),
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
  Policies: set,
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
  Config: tree,
  Env: 'entries',
})

const CRON = rulesOf<NonNullable<TaskSchedule['Cron']>>({
  Start: 'field',
  End: 'field',
  Timezone: 'field',
})

/** The name is what tasks are paired by. */
export const TASK = rulesOf<Task>({
  Name: 'unseen',
  Driver: 'field',
  User: 'field',
  Config: tree,
  Env: 'entries',
  Services: services,
  Templates: objects('Template', TEMPLATE, by('DestPath')),
  Constraints: constraints,
  Affinities: affinities,
  Resources: object(RESOURCES),
  RestartPolicy: object(RESTART),
  DispatchPayload: object(rulesOf<DispatchPayload>({ File: 'field' })),
  Meta: 'entries',
  KillTimeout: 'field',
  KillSignal: 'field',
  Kind: 'field',
  LogConfig: object(
    rulesOf<LogConfig>({ Disabled: 'field', MaxFiles: 'field', MaxFileSizeMB: 'field' }),
  ),
  Artifacts: objects('Artifact', ARTIFACT, by('RelativeDest')),
  Leader: 'field',
  Lifecycle: object(rulesOf<TaskLifecycle>({ Hook: 'field', Sidecar: 'field' })),
  ShutdownDelay: 'field',
  ScalingPolicies: objects('Scaling', SCALING, by('Type')),
  CSIPluginConfig: object(STORAGE_PLUGIN),
  VolumeMounts: objects('VolumeMount', VOLUME_MOUNT, by('Destination')),
  SecretStore: object(SECRET_STORE),
  Secrets: objects('Secret', SECRET, by('Name')),
  Discovery: object(DISCOVERY),
  Identity: object(IDENTITY),
  Identities: objects('Identity', IDENTITY, by('Name')),
  Actions: objects(
    'Action',
    rulesOf<TaskAction>({ Name: 'field', Command: 'field', Args: list }),
    by('Name'),
  ),
  Schedule: object(rulesOf<TaskSchedule>({ Cron: object(CRON) })),
})
