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
import {
  concatIssues,
  forEachEntry,
  issue,
  nestIssues,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'
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
} from './validate-artifact.ts'
import { checkUnsupportedTask } from './unsupported.ts'
import { checkTaskNames } from './validate-names.ts'
import { checkSchedule } from './validate-launch.ts'
import { checkRestart, checkScalingBounds } from './validate-policies.ts'

const MIN_CPU_MHZ = 1
const MIN_MEMORY_MB = 10
const ACTION_NAME_CHARS_MAX = 128
const PROPAGATION_MODES = ['', 'private', 'host-to-task', 'bidirectional']

interface TaskParents {
  readonly group: TaskGroup
  readonly job: Job
}

export function checkTask(
  task: Task,
  path: string,
  parents: TaskParents,
): readonly ValidationIssue[] {
  return concatIssues(
    checkName(task, path),
    checkTaskNames(task, path),
    checkTimes(task, path, parents),
    checkSignal(task.KillSignal, `${path}.KillSignal`),
    checkResources(task.Resources, `${path}.Resources`),
    checkLogs(task, path, parents.group),
    checkTaskConstraints(task.Constraints, `${path}.Constraints`),
    parents.job.Type === 'system'
      ? issueIf(
          task.Affinities !== null &&
            issue(`${path}.Affinities`, 'System jobs may not have an affinity block'),
        )
      : checkAffinities(task.Affinities, `${path}.Affinities`),
    // An inherited policy is checked with the group and would only repeat its message.
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

function checkName(task: Task, path: string): readonly ValidationIssue[] {
  const { Name: name } = task
  const at = `${path}.Name`
  return concatIssues(
    issueIf(name === '' && issue(at, 'Missing task name')),
    // `alloc` is the directory that tasks share.
    issueIf(name === 'alloc' && issue(at, 'Task cannot be named "alloc"')),
    issueIf(/[/\\]/.test(name) && issue(at, 'Task name cannot include slashes')),
    issueIf(name.includes('\0') && issue(at, 'Task name cannot include null characters')),
    checkDirectoryName(name, at),
    issueIf(task.Driver === '' && issue(`${path}.Driver`, 'Missing task driver')),
  )
}

/** Checked here, because every node would reject the task. */
function checkDirectoryName(name: string, namePath: string): readonly ValidationIssue[] {
  const isDots = name === '.' || name === '..'
  const maxBytes = LIMITS.taskNameBytesMax
  // UTF-8 needs at most three bytes per UTF-16 code unit, so short names need no encoding.
  const mayBeTooLong = name.length * 3 > maxBytes
  const isTooLong = mayBeTooLong && encodeUtf8(name).length > maxBytes
  return concatIssues(
    issueIf(isDots && issue(namePath, `Task cannot be named ${quote(name)}`)),
    // Names with a leading dot are reserved for the agent.
    issueIf(
      !isDots && name.startsWith('.') && issue(namePath, 'Task name cannot begin with a dot'),
    ),
    issueIf(isTooLong && issue(namePath, `Task name is longer than ${maxBytes} bytes`)),
  )
}

function checkTimes(
  task: Task,
  path: string,
  { group, job }: TaskParents,
): readonly ValidationIssue[] {
  const { KillTimeout: timeout } = task
  const deadline = group.Update?.ProgressDeadline ?? 0
  return concatIssues(
    issueIf(timeout < 0 && issue(`${path}.KillTimeout`, 'KillTimeout must be a positive value')),
    issueIf(
      job.Type === 'service' &&
        deadline > 0 &&
        timeout > deadline &&
        issue(
          `${path}.KillTimeout`,
          `KillTimeout (${formatDurationNs(timeout)}) longer than the group's ProgressDeadline (${formatDurationNs(deadline)})`,
        ),
    ),
    issueIf(
      task.ShutdownDelay < 0 &&
        issue(`${path}.ShutdownDelay`, 'ShutdownDelay must be a positive value'),
    ),
  )
}

function checkResources(resources: Resources, path: string): readonly ValidationIssue[] {
  const { CPU: cpu, Cores: cores, MemoryMB: memory, MemoryMaxMB: maximum } = resources
  return concatIssues(
    issueIf(
      cores > 0 &&
        cpu > 0 &&
        issue(path, "Task can only ask for 'cpu' or 'cores' resource, not both."),
    ),
    issueIf(cores < 0 && issue(`${path}.Cores`, `Cores cannot be negative; got ${cores}`)),
    issueIf(
      cores === 0 &&
        cpu < MIN_CPU_MHZ &&
        issue(`${path}.CPU`, `minimum CPU value is ${MIN_CPU_MHZ}; got ${cpu}`),
    ),
    issueIf(
      memory < MIN_MEMORY_MB &&
        issue(`${path}.MemoryMB`, `minimum MemoryMB value is ${MIN_MEMORY_MB}; got ${memory}`),
    ),
    issueIf(
      maximum !== 0 &&
        maximum !== -1 &&
        maximum < memory &&
        issue(
          `${path}.MemoryMaxMB`,
          `MemoryMaxMB value (${maximum}) should be larger than MemoryMB value (${memory})`,
        ),
    ),
    issueIf(
      resources.SecretsMB < 0 &&
        issue(`${path}.SecretsMB`, `SecretsMB value (${resources.SecretsMB}) cannot be negative`),
    ),
    checkDevices(resources, path),
    issueIf(
      resources.NUMA !== null &&
        !['none', 'prefer', 'require'].includes(resources.NUMA.Affinity) &&
        issue(
          `${path}.NUMA.Affinity`,
          `numa affinity must be one of none, prefer, or require, not ${quote(resources.NUMA?.Affinity ?? '')}`,
        ),
    ),
  )
}

function checkDevices(resources: Resources, path: string): readonly ValidationIssue[] {
  return forEachEntry(resources.Devices, `${path}.Devices`, (device, at, index) =>
    nestIssues(
      at,
      `device ${index + 1} validation failed`,
      concatIssues(
        issueIf(
          device.Name === '' &&
            issue(
              `${at}.Name`,
              'device name must be given as one of the following: type, vendor/type, or vendor/type/name',
            ),
        ),
        issueIf(
          device.Count < 1 &&
            issue(`${at}.Count`, `device count must be at least 1; got ${device.Count}`),
        ),
        checkDeviceConstraints(device.Constraints, `${at}.Constraints`),
        checkDeviceAffinities(device.Affinities, `${at}.Affinities`),
      ),
    ),
  )
}

/** Checks that all log files of a task fit into the ephemeral disk of the group. */
function checkLogs(task: Task, path: string, group: TaskGroup): readonly ValidationIssue[] {
  const { MaxFiles: files, MaxFileSizeMB: size, Disabled: disabled } = task.LogConfig
  const requiredMB = files * size
  const disk = group.EphemeralDisk.SizeMB
  return concatIssues(
    issueIf(
      files < 1 &&
        issue(`${path}.LogConfig.MaxFiles`, `minimum number of files is 1; got ${files}`),
    ),
    issueIf(
      size < 1 && issue(`${path}.LogConfig.MaxFileSizeMB`, `minimum file size is 1MB; got ${size}`),
    ),
    issueIf(
      !disabled &&
        disk <= requiredMB &&
        issue(
          `${path}.LogConfig`,
          `log storage (${requiredMB} MB) must be less than requested disk capacity (${disk} MB): ` +
            'raise size of ephemeral_disk, or lower max_files or max_file_size of logs',
        ),
    ),
  )
}

function checkLifecycle(task: Task, path: string): readonly ValidationIssue[] {
  if (task.Lifecycle === null) return []
  const { Hook: hook } = task.Lifecycle
  const at = `${path}.Lifecycle.Hook`
  if (hook === '') return [issue(at, 'Lifecycle validation failed: no lifecycle hook provided')]
  const known = LIFECYCLE_HOOKS.some((name) => name === hook)
  return issueIf(!known && issue(at, `Lifecycle validation failed: invalid hook: ${hook}`))
}

function checkVolumeMounts(task: Task, path: string, group: TaskGroup): readonly ValidationIssue[] {
  const volumes = group.Volumes ?? {}
  return forEachEntry(task.VolumeMounts, `${path}.VolumeMounts`, (mount, at, index) =>
    concatIssues(
      issueIf(
        !Object.hasOwn(volumes, mount.Volume) &&
          issue(
            `${at}.Volume`,
            `Volume Mount (${index}) references undefined volume ${mount.Volume}`,
          ),
      ),
      issueIf(
        mount.Destination === '' &&
          issue(`${at}.Destination`, `Volume Mount (${index}) has no destination`),
      ),
      issueIf(
        !PROPAGATION_MODES.includes(mount.PropagationMode) &&
          issue(
            `${at}.PropagationMode`,
            `Volume Mount (${index}) has an invalid propagation mode: ${quote(mount.PropagationMode)}`,
          ),
      ),
    ),
  )
}

function checkActions(task: Task, path: string): readonly ValidationIssue[] {
  const seen = new Set<string>()
  return forEachEntry(
    task.Actions,
    `${path}.Actions`,
    ({ Name: name, Command: command }, at, index) => {
      const isDuplicate = seen.has(name)
      seen.add(name)
      return nestIssues(
        at,
        `Action ${index + 1} validation failed`,
        concatIssues(
          issueIf(
            (name === '' || name.length > ACTION_NAME_CHARS_MAX || /\s/.test(name)) &&
              issue(
                `${at}.Name`,
                `invalid name ${quote(name)}: it must have 1 to ${ACTION_NAME_CHARS_MAX} characters and no blanks`,
              ),
          ),
          issueIf(
            isDuplicate && issue(`${at}.Name`, `action ${quote(name)} is defined more than once`),
          ),
          issueIf(command === '' && issue(`${at}.Command`, 'command cannot be empty')),
        ),
      )
    },
  )
}

function checkScalingPolicies(task: Task, path: string): readonly ValidationIssue[] {
  return forEachEntry(task.ScalingPolicies, `${path}.ScalingPolicies`, (policy, at) =>
    concatIssues(
      issueIf(
        policy.Type !== 'vertical_cpu' &&
          policy.Type !== 'vertical_mem' &&
          issue(
            `${at}.Type`,
            `Scaling policy invalid: the type of a task policy must be vertical_cpu or vertical_mem, not ${quote(policy.Type)}`,
          ),
      ),
      checkScalingBounds(policy, at),
    ),
  )
}
