import {
  ChangeScript,
  CsiPluginConfig,
  DispatchPayload,
  LogConfig,
  NumaPreference,
  RequestedDevice,
  Resources,
  Task,
  TaskAction,
  TaskArtifact,
  TaskLifecycle,
  TaskSchedule,
  Template,
  TemplateWait,
  VolumeMount,
} from '@reeve/contract'
import { warningAt } from '@reeve/hcl'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  setFrom,
  reportAt,
  takePseudoField,
  type RecordBuilder,
  setDefault,
} from '../build/record-builder.ts'
import { report } from '../diagnostics.ts'
import { isRecord, toRecords } from '../source.ts'
import { DISCOVERY, IDENTITY, NETWORK, SECRET, SECRET_STORE, SERVICE } from './service.ts'
import { NODE_RULES } from './placement.ts'
import { RESTART, TASK_SCALING } from './strategies.ts'
import {
  bool,
  duration,
  opaque,
  int,
  many,
  one,
  mapBlock,
  string,
  stringMap,
  stringList,
} from './block-mapping.ts'

const DEVICE = mapBlock(RequestedDevice, {
  label: 'Name',
  attributes: { count: int('Count', 'Number of devices, at least 1.') },
  blocks: NODE_RULES,
})

const NUMA = mapBlock(NumaPreference, {
  attributes: {
    affinity: string(
      'Affinity',
      '`none`, `prefer` or `require`. `prefer` has no effect and `require` matches no node, ' +
        'because nodes do not report their topology.',
    ),
    devices: stringList('Devices', 'No effect: nodes do not report their topology.'),
  },
})

const RESOURCES = mapBlock(Resources, {
  attributes: {
    cpu: int(
      'CPU',
      'CPU share in MHz, at least 1. A guaranteed minimum; idle CPU may be used beyond it. Not ' +
        'together with `cores`.',
    ),
    cores: int('Cores', 'Whole cores reserved for this task alone.'),
    memory: int('MemoryMB', 'Memory in MiB, at least 10. The node reserves it.'),
    memory_max: int(
      'MemoryMaxMB',
      'Memory limit in MiB above `memory`, for nodes whose scheduler configuration allows ' +
        'memory oversubscription. -1 means no limit.',
    ),
    secrets: int(
      'SecretsMB',
      'Size of the secrets directory in MiB, added to the memory of the task.',
    ),
    disk: int('DiskMB', 'Rejected on tasks: set `size` of [ephemeral_disk](ephemeral_disk.md).'),
    iops: int('IOPS', 'Deprecated, ignored.'),
  },
  blocks: {
    network: many('Networks', NETWORK),
    device: many('Devices', DEVICE),
    numa: one('NUMA', NUMA),
  },
})

const LOGS = mapBlock(LogConfig, {
  attributes: {
    max_files: int('MaxFiles', 'Rotated files kept per stream (stdout and stderr), at least 1.'),
    max_file_size: int(
      'MaxFileSizeMB',
      'Size in MiB at which a file is rotated, at least 1. `max_files * max_file_size` must be ' +
        'below the size of the ephemeral disk.',
    ),
    disabled: bool('Disabled', 'Discards the output of the task.'),
    enabled: bool('@enabled', 'Deprecated: the opposite of `disabled`.'),
  },
  finish: invertEnabled,
})

/** The older argument has the opposite meaning; the newer one takes precedence. */
function invertEnabled(draft: RecordBuilder): void {
  const enabled = takePseudoField(draft, '@enabled')
  if (typeof enabled !== 'boolean') return
  const span = draft.marks.get('@enabled')?.span ?? draft.span
  const detail = 'The argument "enabled" of logs is deprecated; use "disabled".'
  report(draft.building.findings, () => warningAt(span, 'Deprecated argument', detail))
  if (!draft.values.has('Disabled'))
    setFrom(draft, 'Disabled', { value: !enabled, from: '@enabled' })
}

const LIFECYCLE = mapBlock(TaskLifecycle, {
  attributes: {
    hook: string(
      'Hook',
      'Required. `prestart` runs before the main tasks, `poststart` once they have started, ' +
        '`poststop` after they have ended.',
    ),
    sidecar: bool(
      'Sidecar',
      'Keeps the task running beside the main tasks and restarts it; otherwise it runs to ' +
        'completion.',
    ),
  },
})

const DISPATCH_PAYLOAD = mapBlock(DispatchPayload, {
  attributes: {
    file: string(
      'File',
      "Required. File below the task's `local` directory that receives the payload.",
    ),
  },
})

const VOLUME_MOUNT = mapBlock(VolumeMount, {
  attributes: {
    volume: string('Volume', 'Required. Label of a `volume` of the group.'),
    destination: string('Destination', 'Required. Path in the file system of the task.'),
    read_only: bool('ReadOnly', 'Mounts the volume read-only in this task.'),
    propagation_mode: string(
      'PropagationMode',
      '`private`; `host-to-task` also shows mounts that the node adds below the volume later; ' +
        '`bidirectional` also in the other direction. The last two need a directory on a shared ' +
        'mount.',
    ),
    selinux_label: string('SELinuxLabel', 'Rejected: label the directory on the node.'),
  },
})

const CSI_PLUGIN = mapBlock(CsiPluginConfig, {
  attributes: {
    id: string('ID', 'Name of the plugin.'),
    type: string('Type', '`node`, `controller` or `monolith`.'),
    mount_dir: string('MountDir', "Directory of the plugin's socket in the task."),
    stage_publish_base_dir: string(
      'StagePublishBaseDir',
      'Directory for staged volumes in the task.',
    ),
    health_timeout: duration('HealthTimeout', 'Time for the plugin to become healthy.'),
  },
})

const ACTION = mapBlock(TaskAction, {
  label: 'Name',
  attributes: {
    command: string('Command', 'Required. Program to run in the task.'),
    args: stringList('Args', 'Arguments of the program.'),
  },
})

const CRON = mapBlock(
  { properties: { Start: true, End: true, Timezone: true } },
  {
    attributes: {
      start: string('Start', 'Required. Cron expression of five fields at which the window opens.'),
      end: string('End', 'Required. Minute and hour at which it closes, such as `0 16`.'),
      timezone: string(
        'Timezone',
        'Time zone of both, such as `Europe/Berlin`. Defaults to that of the node.',
      ),
    },
  },
)

const SCHEDULE = mapBlock(TaskSchedule, { blocks: { cron: one('Cron', CRON) } })

const ARTIFACT = mapBlock(TaskArtifact, {
  attributes: {
    source: string(
      'GetterSource',
      'Required. Address: `https://`, `s3::https://`, `gcs::https://`, `git::` or `file://`. ' +
        'See [artifacts](../artifacts.md).',
    ),
    options: stringMap(
      'GetterOptions',
      'Options of the source, such as `checksum = "sha256:…"`, `ref`, `archive`.',
    ),
    headers: stringMap('GetterHeaders', 'HTTP headers of the request.'),
    mode: string(
      'GetterMode',
      '`any` unpacks archives and accepts files and directories; `file` and `dir` require one ' +
        'of them.',
    ),
    insecure: bool('GetterInsecure', 'Skips TLS verification.'),
    destination: string(
      'RelativeDest',
      'Directory or, with `mode = "file"`, file below the task directory.',
    ),
    chown: bool('Chown', 'Makes the user of the task the owner of the files.'),
  },
})

const FIVE_SECONDS_NS = nsFromMs(5_000)

const CHANGE_SCRIPT = mapBlock(ChangeScript, {
  attributes: {
    command: string('Command', 'Required. Program to run in the task.'),
    args: stringList('Args', 'Arguments of the program.'),
    timeout: duration('Timeout', 'Time after which the script counts as failed.'),
    fail_on_error: bool('FailOnError', 'Fails the task when the script fails.'),
    run_on_first_render: bool('RunOnFirstRender', 'Runs the script after the first rendering too.'),
  },
  finish: fillChangeScript,
})

const WAIT = mapBlock(TemplateWait, {
  attributes: {
    min: duration('Min', 'Waits until the data have not changed for this long.'),
    max: duration('Max', 'Renders after this long at the latest.'),
  },
})

const TEMPLATE = mapBlock(Template, {
  attributes: {
    source: string(
      'SourcePath',
      'File of the task directory that holds the template, for example one fetched by an ' +
        'artifact. `source` or `data` is required.',
    ),
    destination: string(
      'DestPath',
      'Required. File to write, relative to the task directory: `local/app.conf`, ' +
        '`secrets/db.env`.',
    ),
    data: string('EmbeddedTmpl', 'The template itself.'),
    change_mode: string(
      'ChangeMode',
      'Action when the rendered text changes: `restart`, `signal`, `script` or `noop`.',
    ),
    change_signal: string('ChangeSignal', 'Signal for `change_mode = "signal"`.'),
    once: bool('Once', 'Renders once and watches nothing.'),
    splay: duration('Splay', 'Upper bound of a random delay before the change takes effect.'),
    perms: string('Perms', 'Permissions of the file, octal.'),
    uid: int('Uid', 'User ID of the owner of the file.'),
    gid: int('Gid', 'Group ID of the owner of the file.'),
    left_delimiter: string('LeftDelim', 'Start of an action.'),
    right_delimiter: string('RightDelim', 'End of an action.'),
    env: bool(
      'Envvars',
      'Reads the rendered file as `KEY=value` lines into the environment of the task. Not with ' +
        '`change_mode = "signal"`.',
    ),
    error_on_missing_key: bool(
      'ErrMissingKey',
      'Fails the rendering when a map has no such key, instead of writing `<no value>`.',
    ),
  },
  blocks: { change_script: one('ChangeScript', CHANGE_SCRIPT), wait: one('Wait', WAIT) },
  finish: fillTemplate,
})

export const TASK = mapBlock(Task, {
  label: 'Name',
  attributes: {
    driver: string(
      'Driver',
      'Required. Driver that runs the task: `raw_exec`, `exec` or `docker`. See ' +
        '[drivers](../drivers.md).',
    ),
    user: string('User', 'User that the task runs as, where the driver supports it.'),
    env: stringMap(
      'Env',
      'Environment variables of the task. Values may refer to node attributes and to other ' +
        'variables: [interpolation](interpolation.md).',
    ),
    meta: stringMap('Meta', 'Key-value pairs merged over those of the group.'),
    kill_timeout: duration(
      'KillTimeout',
      "Time between `kill_signal` and `SIGKILL`. At most the node's `max_kill_timeout`.",
    ),
    kill_signal: string(
      'KillSignal',
      'Signal that asks the task to stop. `TERM`, `sigterm`, `SIGTERM` and `15` are the same.',
    ),
    shutdown_delay: duration(
      'ShutdownDelay',
      'Time between removing the services of the task from the catalogue and stopping it.',
    ),
    leader: bool(
      'Leader',
      'Stops the other tasks of the group when this one ends. One task per group.',
    ),
    kind: string('Kind', 'Free text, kept and shown; nothing depends on it.'),
  },
  blocks: {
    ...NODE_RULES,
    config: opaque('Config'),
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
    splitIdentities(draft)
  },
})

function dropEmptyLifecycle(draft: RecordBuilder): void {
  const lifecycle = draft.values.get('Lifecycle')
  if (isRecord(lifecycle) && Object.values(lifecycle).every((value) => value === null))
    draft.values.delete('Lifecycle')
}

/** An identity without a name, or named `default`, has a separate field. */
function splitIdentities(draft: RecordBuilder): void {
  const identities = toRecords(takePseudoField(draft, '@identities'))
  const isDefault = (name: unknown) => name === null || name === '' || name === 'default'
  const [first, second] = identities.filter((identity) => isDefault(identity['Name']))
  const named = identities.filter((identity) => !isDefault(identity['Name']))
  if (first !== undefined) setFrom(draft, 'Identity', { value: first, from: '@identities' })
  if (named.length > 0) setFrom(draft, 'Identities', { value: named, from: '@identities' })
  if (second === undefined) return
  const detail = 'A task has one identity without a name, or named "default"; name the others.'
  reportAt(draft, '@identities', { summary: 'Duplicate identity', detail })
}

/** Sets the defaults that apply at parse time; canonicalization sets the others. */
function fillTemplate(draft: RecordBuilder): void {
  setDefault(draft, 'ChangeMode', 'restart')
  setDefault(draft, 'Splay', FIVE_SECONDS_NS)
  setDefault(draft, 'Perms', '0644')
  setDefault(draft, 'ErrMissingKey', false)
}

function fillChangeScript(draft: RecordBuilder): void {
  setDefault(draft, 'Args', [])
  setDefault(draft, 'Timeout', FIVE_SECONDS_NS)
  setDefault(draft, 'FailOnError', false)
  setDefault(draft, 'RunOnFirstRender', false)
}
