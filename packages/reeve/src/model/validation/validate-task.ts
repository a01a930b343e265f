import {
  LIFECYCLE_HOOKS,
  type Job,
  type Resources,
  type Task,
  type TaskGroup,
} from '@reeve/contract'
import { formatDurationNs } from '@reeve/kit/duration.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { isEqual } from '../deep-equal.ts'
import { LIMITS } from '../limits.ts'
import { allOf, each, finding, nest, quote, when, type Finding } from './finding.ts'
import {
  checkAffinities,
  checkDeviceAffinities,
  checkDeviceConstraints,
  checkTaskConstraints,
} from './validate-constraint.ts'
import {
  checkArtifacts,
  checkDispatchPayload,
  checkSignal,
  checkTemplates,
} from './validate-file.ts'
import { checkUnsupportedTask } from './unsupported.ts'
import { checkTaskNames } from './validate-names.ts'
import { checkSchedule } from './validate-launch.ts'
import { checkRestart } from './validate-policies.ts'
import { checkScalingBounds } from './validate-scaling.ts'

const CPU_MHZ_MIN = 1
const MEMORY_MB_MIN = 10
const ACTION_NAME_CHARS_MAX = 128
const PROPAGATION_MODES = ['', 'private', 'host-to-task', 'bidirectional']

export interface TaskParents {
  readonly group: TaskGroup
  readonly job: Job
}

export function checkTask(task: Task, path: string, parents: TaskParents): readonly Finding[] {
  return allOf(
    checkName(task, path),
    checkTaskNames(task, path),
    checkTimes(task, path, parents),
    checkSignal(task.KillSignal, `${path}.KillSignal`),
    checkResources(task.Resources, `${path}.Resources`),
    checkLogs(task, path, parents.group),
    checkTaskConstraints(task.Constraints, `${path}.Constraints`),
    parents.job.Type === 'system'
      ? when(
          task.Affinities !== null &&
            finding(`${path}.Affinities`, 'System jobs may not have an affinity block'),
        )
      : checkAffinities(task.Affinities, `${path}.Affinities`),
    // The group's own policy is checked there; inherited copies of it would only repeat the text.
    isEqual(task.RestartPolicy, parents.group.RestartPolicy)
      ? []
      : checkRestart(task.RestartPolicy, `${path}.RestartPolicy`),
    checkArtifacts(task, path),
    checkTemplates(task, path),
    checkDispatchPayload(task, path),
    checkLifecycle(task, path),
    checkVolumeMounts(task, path, parents.group),
    checkUnsupportedTask(task, path),
    checkSchedule(task, path),
    checkActions(task, path),
    checkScalingPolicies(task, path),
  )
}

function checkName(task: Task, path: string): readonly Finding[] {
  const { Name: name } = task
  const at = `${path}.Name`
  return allOf(
    when(name === '' && finding(at, 'Missing task name')),
    // The directory of that name inside the allocation's is the one that tasks share.
    when(name === 'alloc' && finding(at, 'Task cannot be named "alloc"')),
    when(/[/\\]/.test(name) && finding(at, 'Task name cannot include slashes')),
    when(name.includes('\0') && finding(at, 'Task name cannot include null characters')),
    checkDirectoryName(name, at),
    when(task.Driver === '' && finding(`${path}.Driver`, 'Missing task driver')),
  )
}

/** Refused here rather than by each node that the task is placed on: there it fails for ever. */
function checkDirectoryName(name: string, at: string): readonly Finding[] {
  const isDots = name === '.' || name === '..'
  const most = LIMITS.taskNameBytesMax
  // No letter has more than three bytes for each of its units.
  const mayBeTooLong = name.length * 3 > most
  const isTooLong = mayBeTooLong && encodeUtf8(name).length > most
  return allOf(
    when(isDots && finding(at, `Task cannot be named ${quote(name)}`)),
    // Such names are the agent's own.
    when(!isDots && name.startsWith('.') && finding(at, 'Task name cannot begin with a dot')),
    when(isTooLong && finding(at, `Task name is longer than ${most} bytes`)),
  )
}

function checkTimes(task: Task, path: string, { group, job }: TaskParents): readonly Finding[] {
  const { KillTimeout: timeout } = task
  const deadline = group.Update?.ProgressDeadline ?? 0
  return allOf(
    when(timeout < 0 && finding(`${path}.KillTimeout`, 'KillTimeout must be a positive value')),
    when(
      job.Type === 'service' &&
        deadline > 0 &&
        timeout > deadline &&
        finding(
          `${path}.KillTimeout`,
          `KillTimeout (${formatDurationNs(timeout)}) longer than the group's ProgressDeadline (${formatDurationNs(deadline)})`,
        ),
    ),
    when(
      task.ShutdownDelay < 0 &&
        finding(`${path}.ShutdownDelay`, 'ShutdownDelay must be a positive value'),
    ),
  )
}

function checkResources(resources: Resources, path: string): readonly Finding[] {
  const { CPU: cpu, Cores: cores, MemoryMB: memory, MemoryMaxMB: maximum } = resources
  return allOf(
    when(
      cores > 0 &&
        cpu > 0 &&
        finding(path, "Task can only ask for 'cpu' or 'cores' resource, not both."),
    ),
    when(cores < 0 && finding(`${path}.Cores`, `Cores cannot be negative; got ${cores}`)),
    when(
      cores === 0 &&
        cpu < CPU_MHZ_MIN &&
        finding(`${path}.CPU`, `minimum CPU value is ${CPU_MHZ_MIN}; got ${cpu}`),
    ),
    when(
      memory < MEMORY_MB_MIN &&
        finding(`${path}.MemoryMB`, `minimum MemoryMB value is ${MEMORY_MB_MIN}; got ${memory}`),
    ),
    when(
      maximum !== 0 &&
        maximum !== -1 &&
        maximum < memory &&
        finding(
          `${path}.MemoryMaxMB`,
          `MemoryMaxMB value (${maximum}) should be larger than MemoryMB value (${memory})`,
        ),
    ),
    when(
      resources.SecretsMB < 0 &&
        finding(`${path}.SecretsMB`, `SecretsMB value (${resources.SecretsMB}) cannot be negative`),
    ),
    checkDevices(resources, path),
    when(
      resources.NUMA !== null &&
        !['none', 'prefer', 'require'].includes(resources.NUMA.Affinity) &&
        finding(
          `${path}.NUMA.Affinity`,
          `numa affinity must be one of none, prefer, or require, not ${quote(resources.NUMA?.Affinity ?? '')}`,
        ),
    ),
  )
}

function checkDevices(resources: Resources, path: string): readonly Finding[] {
  return each(resources.Devices, `${path}.Devices`, (device, at, index) =>
    nest(
      at,
      `device ${index + 1} validation failed`,
      allOf(
        when(
          device.Name === '' &&
            finding(
              `${at}.Name`,
              'device name must be given as one of the following: type, vendor/type, or vendor/type/name',
            ),
        ),
        when(
          device.Count < 1 &&
            finding(`${at}.Count`, `device count must be at least 1; got ${device.Count}`),
        ),
        checkDeviceConstraints(device.Constraints, `${at}.Constraints`),
        checkDeviceAffinities(device.Affinities, `${at}.Affinities`),
      ),
    ),
  )
}

/** All log files of a task must fit on the disk that the group asks for. */
function checkLogs(task: Task, path: string, group: TaskGroup): readonly Finding[] {
  const { MaxFiles: files, MaxFileSizeMB: size, Disabled: disabled } = task.LogConfig
  const needed = files * size
  const disk = group.EphemeralDisk.SizeMB
  return allOf(
    when(
      files < 1 &&
        finding(`${path}.LogConfig.MaxFiles`, `minimum number of files is 1; got ${files}`),
    ),
    when(
      size < 1 &&
        finding(`${path}.LogConfig.MaxFileSizeMB`, `minimum file size is 1MB; got ${size}`),
    ),
    when(
      !disabled &&
        disk <= needed &&
        finding(
          `${path}.LogConfig`,
          `log storage (${needed} MB) must be less than requested disk capacity (${disk} MB): ` +
            'raise size of ephemeral_disk, or lower max_files or max_file_size of logs',
        ),
    ),
  )
}

function checkLifecycle(task: Task, path: string): readonly Finding[] {
  if (task.Lifecycle === null) return []
  const { Hook: hook } = task.Lifecycle
  const at = `${path}.Lifecycle.Hook`
  if (hook === '') return [finding(at, 'Lifecycle validation failed: no lifecycle hook provided')]
  const known = LIFECYCLE_HOOKS.some((name) => name === hook)
  return when(!known && finding(at, `Lifecycle validation failed: invalid hook: ${hook}`))
}

function checkVolumeMounts(task: Task, path: string, group: TaskGroup): readonly Finding[] {
  const volumes = group.Volumes ?? {}
  return each(task.VolumeMounts, `${path}.VolumeMounts`, (mount, at, index) =>
    allOf(
      when(
        !Object.hasOwn(volumes, mount.Volume) &&
          finding(
            `${at}.Volume`,
            `Volume Mount (${index}) references undefined volume ${mount.Volume}`,
          ),
      ),
      when(
        mount.Destination === '' &&
          finding(`${at}.Destination`, `Volume Mount (${index}) has no destination`),
      ),
      when(
        !PROPAGATION_MODES.includes(mount.PropagationMode) &&
          finding(
            `${at}.PropagationMode`,
            `Volume Mount (${index}) has an invalid propagation mode: ${quote(mount.PropagationMode)}`,
          ),
      ),
    ),
  )
}

function checkActions(task: Task, path: string): readonly Finding[] {
  const seen = new Set<string>()
  return each(task.Actions, `${path}.Actions`, ({ Name: name, Command: command }, at, index) => {
    const again = seen.has(name)
    seen.add(name)
    return nest(
      at,
      `Action ${index + 1} validation failed`,
      allOf(
        when(
          (name === '' || name.length > ACTION_NAME_CHARS_MAX || /\s/.test(name)) &&
            finding(
              `${at}.Name`,
              `invalid name ${quote(name)}: it must have 1 to ${ACTION_NAME_CHARS_MAX} characters and no blanks`,
            ),
        ),
        when(again && finding(`${at}.Name`, `action ${quote(name)} is defined more than once`)),
        when(command === '' && finding(`${at}.Command`, 'command cannot be empty')),
      ),
    )
  })
}

function checkScalingPolicies(task: Task, path: string): readonly Finding[] {
  return each(task.ScalingPolicies, `${path}.ScalingPolicies`, (policy, at) =>
    allOf(
      when(
        policy.Type !== 'vertical_cpu' &&
          policy.Type !== 'vertical_mem' &&
          finding(
            `${at}.Type`,
            `Scaling policy invalid: the type of a task policy must be vertical_cpu or vertical_mem, not ${quote(policy.Type)}`,
          ),
      ),
      checkScalingBounds(policy, at),
    ),
  )
}
