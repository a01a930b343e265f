import {
  HOST_VOLUME_ACCESS_MODES,
  type Job,
  type Task,
  type TaskGroup,
  VOLUME_ATTACHMENT_MODES,
  type VolumeRequest,
} from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { isBatchType, isSystemType } from '../job/job.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  nestIssues,
  issueIf,
  type ValidationIssue,
  quote,
} from './validation-issue.ts'
import { checkAffinities, checkConstraints, checkSpreads } from './validate-constraint.ts'
import { checkGroupNames } from './validate-names.ts'
import { checkNetworks } from './validate-network.ts'
import {
  checkDisconnect,
  checkMigrate,
  checkReschedule,
  checkRestart,
  checkScalingBounds,
  checkUpdate,
} from './validate-policies.ts'
import { checkUnsupportedGroup, checkUnsupportedVolume } from './unsupported.ts'
import { checkServices } from './validate-service.ts'
import { checkTask } from './validate-task.ts'

const MIN_DISK_MB = 10

export function* checkGroup(
  group: TaskGroup,
  path: string,
  job: Job,
): Steps<readonly ValidationIssue[]> {
  const groupIssues = concatIssues(
    checkStructure(group, path),
    checkGroupNames(group, path),
    checkConstraintBlocks(group, path, job),
    checkPolicies(group, path, job),
    checkNetworks(group, path),
    checkVolumes(group, path, job),
    checkServices(group, path),
    checkScaling(group, path),
    checkUnsupportedGroup(group, path),
  )
  const all = [...groupIssues]
  for (const [index, task] of group.Tasks.entries()) {
    const at = `${path}.Tasks[${index}]`
    const taskIssues = checkTask(task, at, { group, job })
    all.push(...nestIssues(at, `Task ${task.Name} validation failed`, taskIssues))
    yield
  }
  return all
}

function checkStructure(group: TaskGroup, path: string): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(group.Name === '' && issue(`${path}.Name`, 'Missing task group name')),
    issueIf(
      group.Name.includes('\0') && issue(`${path}.Name`, 'Task group name contains null character'),
    ),
    issueIf(group.Count < 0 && issue(`${path}.Count`, "Task group count can't be negative")),
    issueIf(group.Tasks.length === 0 && issue(`${path}.Tasks`, 'Missing tasks for task group')),
    checkUniqueTaskNames(group.Tasks, `${path}.Tasks`),
    issueIf(
      group.Tasks.filter((task) => task.Leader).length > 1 &&
        issue(`${path}.Tasks`, 'Only one task may be marked as leader'),
    ),
    issueIf(
      group.Tasks.length > 0 &&
        !group.Tasks.some((task) => task.Lifecycle === null) &&
        issue(`${path}.Tasks`, `Task group ${group.Name} must have at least one main task`),
    ),
  )
}

function checkUniqueTaskNames(tasks: readonly Task[], path: string): readonly ValidationIssue[] {
  const firstIndexByName = new Map<string, number>()
  return forEachEntry(tasks, path, ({ Name: name }, at, index) => {
    if (name === '') return [issue(`${at}.Name`, `Task ${index + 1} missing name`)]
    const first = firstIndexByName.get(name)
    if (first === undefined) firstIndexByName.set(name, index)
    if (first === undefined) return []
    return [issue(`${at}.Name`, `Task ${index + 1} redefines '${name}' from task ${first + 1}`)]
  })
}

function checkConstraintBlocks(
  group: TaskGroup,
  path: string,
  job: Job,
): readonly ValidationIssue[] {
  const system = job.Type === 'system'
  return concatIssues(
    checkConstraints(group.Constraints, `${path}.Constraints`),
    system
      ? issueIf(
          group.Affinities !== null &&
            issue(`${path}.Affinities`, 'System jobs may not have an affinity block'),
        )
      : checkAffinities(group.Affinities, `${path}.Affinities`),
    system
      ? issueIf(
          group.Spreads !== null &&
            issue(`${path}.Spreads`, 'System jobs may not have a spread block'),
        )
      : checkSpreads(group.Spreads, `${path}.Spreads`),
  )
}

function checkPolicies(group: TaskGroup, path: string, job: Job): readonly ValidationIssue[] {
  const { Update: update, Migrate: migrate, MaxRunDuration: limit, Disconnect: disconnect } = group
  const disallows = (block: string): string =>
    `Job type "${job.Type}" does not allow ${block} block`
  const isBatch = isBatchType(job.Type)
  const neverCompletes = job.Type === 'service' || job.Type === 'system'
  return concatIssues(
    checkRestart(group.RestartPolicy, `${path}.RestartPolicy`),
    checkReschedulePresence(group, `${path}.ReschedulePolicy`, job.Type),
    issueIf(update !== null && isBatch && issue(`${path}.Update`, disallows('update'))),
    update === null ? [] : checkUpdate(update, `${path}.Update`),
    issueIf(
      migrate !== null &&
        (isBatch || job.Type === 'system') &&
        issue(`${path}.Migrate`, disallows('migrate')),
    ),
    migrate === null ? [] : checkMigrate(migrate, `${path}.Migrate`),
    disconnect === null ? [] : checkDisconnect(disconnect, `${path}.Disconnect`, job.Type),
    issueIf(
      limit !== null &&
        neverCompletes &&
        issue(`${path}.MaxRunDuration`, disallows('max_run_duration')),
    ),
    issueIf(
      limit !== null &&
        limit <= 0 &&
        issue(`${path}.MaxRunDuration`, 'max_run_duration must be greater than zero'),
    ),
    issueIf(
      group.EphemeralDisk.SizeMB < MIN_DISK_MB &&
        issue(
          `${path}.EphemeralDisk.SizeMB`,
          `minimum DiskMB value is ${MIN_DISK_MB}; got ${group.EphemeralDisk.SizeMB}`,
        ),
    ),
  )
}

function checkReschedulePresence(
  group: TaskGroup,
  path: string,
  jobType: string,
): readonly ValidationIssue[] {
  const policy = group.ReschedulePolicy
  if (isSystemType(jobType))
    return issueIf(
      policy !== null && issue(path, 'System or sysbatch jobs should not have a reschedule policy'),
    )
  if (policy !== null) return checkReschedule(policy, path)
  const isRequired = jobType === 'service' || jobType === 'batch'
  return issueIf(
    isRequired && issue(path, `Task Group ${group.Name} should have a reschedule policy`),
  )
}

function checkScaling(group: TaskGroup, path: string): readonly ValidationIssue[] {
  const policy = group.Scaling
  if (policy === null) return []
  const at = `${path}.Scaling`
  const { Min: minimum, Max: maximum } = policy
  return concatIssues(
    issueIf(
      policy.Type !== 'horizontal' &&
        issue(
          `${at}.Type`,
          'Scaling policy invalid: the type of a group policy must be horizontal',
        ),
    ),
    checkScalingBounds(policy, at),
    issueIf(
      maximum >= 0 &&
        group.Count > maximum &&
        issue(
          `${path}.Count`,
          'Scaling policy invalid: task group count must not be greater than maximum count in scaling policy',
        ),
    ),
    issueIf(
      group.Count < minimum &&
        issue(
          `${path}.Count`,
          'Scaling policy invalid: task group count must not be less than minimum count in scaling policy',
        ),
    ),
  )
}

const CSI_ACCESS_MODES: readonly string[] = [
  'single-node-reader-only',
  'single-node-writer',
  'multi-node-reader-only',
  'multi-node-single-writer',
  'multi-node-multi-writer',
]

/** Multi-node modes are accepted too; a host volume is always on one node. */
const HOST_ACCESS_MODES: readonly string[] = [...HOST_VOLUME_ACCESS_MODES, ...CSI_ACCESS_MODES]
const ATTACHMENT_MODES: readonly string[] = VOLUME_ATTACHMENT_MODES

function checkVolumes(group: TaskGroup, path: string, job: Job): readonly ValidationIssue[] {
  return Object.entries(group.Volumes ?? {}).flatMap(([label, volume]) => {
    const at = `${path}.Volumes[${label}]`
    return nestIssues(
      at,
      `Task group volume validation for ${label} failed`,
      concatIssues(
        checkVolume(volume, at),
        checkUnsupportedVolume(volume, at),
        checkPerAllocation(volume, at, { group, job }),
      ),
    )
  })
}

function checkVolume(volume: VolumeRequest, path: string): readonly ValidationIssue[] {
  const { Type: type, AccessMode: access, AttachmentMode: attachment } = volume
  const isCsi = type === 'csi'
  return concatIssues(
    issueIf(volume.Source === '' && issue(`${path}.Source`, 'volume has an empty source')),
    issueIf(
      type !== 'host' &&
        !isCsi &&
        issue(`${path}.Type`, `volume has unrecognized type ${quote(type)}`),
    ),
    issueIf(
      type === 'host' &&
        volume.MountOptions !== null &&
        issue(`${path}.MountOptions`, 'host volumes cannot have mount options'),
    ),
    issueIf(
      isCsi &&
        volume.Sticky &&
        issue(`${path}.Sticky`, 'CSI volumes cannot be sticky: they follow their claim'),
    ),
    issueIf(
      (isCsi
        ? !CSI_ACCESS_MODES.includes(access)
        : access !== '' && !HOST_ACCESS_MODES.includes(access)) &&
        issue(`${path}.AccessMode`, `volume has unrecognized access mode ${quote(access)}`),
    ),
    issueIf(
      (isCsi
        ? !ATTACHMENT_MODES.includes(attachment)
        : attachment !== '' && !ATTACHMENT_MODES.includes(attachment)) &&
        issue(
          `${path}.AttachmentMode`,
          `volume has unrecognized attachment mode ${quote(attachment)}`,
        ),
    ),
    issueIf(
      !volume.ReadOnly &&
        access.endsWith('reader-only') &&
        issue(`${path}.ReadOnly`, `volume with access mode ${quote(access)} must be read-only`),
    ),
  )
}

/** Per-allocation volumes need unique and stable name indexes. */
function checkPerAllocation(
  volume: VolumeRequest,
  path: string,
  { group, job }: { readonly group: TaskGroup; readonly job: Job },
): readonly ValidationIssue[] {
  if (!volume.PerAlloc) return []
  const at = `${path}.PerAlloc`
  return concatIssues(
    issueIf(
      isSystemType(job.Type) && issue(at, 'volume cannot be per_alloc for system or sysbatch jobs'),
    ),
    issueIf(
      (group.Update?.Canary ?? 0) > 0 &&
        issue(at, 'volume cannot be per_alloc when canaries are in use'),
    ),
    issueIf(volume.Sticky && issue(at, 'volume cannot be both per_alloc and sticky')),
  )
}
