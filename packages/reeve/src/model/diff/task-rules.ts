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
import {
  byField,
  stringList,
  objectRule,
  objectsRule,
  rulesOf,
  stringSet,
  treeRule,
} from './rules.ts'
import { IDENTITY, services } from './service-rules.ts'

export const RESTART = rulesOf<RestartPolicy>({
  Attempts: 'field',
  Interval: 'field',
  Delay: 'field',
  Mode: 'field',
  RenderTemplates: 'field',
})

/** The ID is assigned at registration; the target is the group or task of the policy. */
export const SCALING = rulesOf<ScalingPolicy>({
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
