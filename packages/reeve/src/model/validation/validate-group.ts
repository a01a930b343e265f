import type { Job, Task, TaskGroup } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { isBatchType, isSystemType } from '../job/job-type.ts'
import { allOf, each, finding, nest, when, type Finding } from './finding.ts'
import { checkAffinities, checkConstraints, checkSpreads } from './validate-constraint.ts'
import { checkGroupNames } from './validate-names.ts'
import { checkNetworks } from './validate-network.ts'
import {
  checkDisconnect,
  checkMigrate,
  checkReschedule,
  checkRestart,
  checkUpdate,
} from './validate-policies.ts'
import { checkScalingBounds } from './validate-scaling.ts'
import { checkUnsupportedGroup } from './unsupported.ts'
import { checkServices } from './validate-service.ts'
import { checkTask } from './validate-task.ts'
import { checkVolumes } from './validate-volume.ts'

const DISK_MB_MIN = 10

export function* checkGroup(group: TaskGroup, path: string, job: Job): Steps<readonly Finding[]> {
  const own = allOf(
    checkShape(group, path),
    checkGroupNames(group, path),
    checkRules(group, path, job),
    checkPolicies(group, path, job),
    checkNetworks(group, path),
    checkVolumes(group, path, job),
    checkServices(group, path),
    checkScaling(group, path),
    checkUnsupportedGroup(group, path),
  )
  const all = [...own]
  for (const [index, task] of group.Tasks.entries()) {
    const at = `${path}.Tasks[${index}]`
    const found = checkTask(task, at, { group, job })
    all.push(...nest(at, `Task ${task.Name} validation failed`, found))
    yield
  }
  return all
}

function checkShape(group: TaskGroup, path: string): readonly Finding[] {
  return allOf(
    when(group.Name === '' && finding(`${path}.Name`, 'Missing task group name')),
    when(
      group.Name.includes('\0') &&
        finding(`${path}.Name`, 'Task group name contains null character'),
    ),
    when(group.Count < 0 && finding(`${path}.Count`, "Task group count can't be negative")),
    when(group.Tasks.length === 0 && finding(`${path}.Tasks`, 'Missing tasks for task group')),
    checkTaskNames(group.Tasks, `${path}.Tasks`),
    when(
      group.Tasks.filter((task) => task.Leader).length > 1 &&
        finding(`${path}.Tasks`, 'Only one task may be marked as leader'),
    ),
    when(
      group.Tasks.length > 0 &&
        !group.Tasks.some((task) => task.Lifecycle === null) &&
        finding(`${path}.Tasks`, `Task group ${group.Name} must have at least one main task`),
    ),
  )
}

function checkTaskNames(tasks: readonly Task[], path: string): readonly Finding[] {
  const firstOf = new Map<string, number>()
  return each(tasks, path, ({ Name: name }, at, index) => {
    if (name === '') return [finding(`${at}.Name`, `Task ${index + 1} missing name`)]
    const first = firstOf.get(name)
    if (first === undefined) firstOf.set(name, index)
    if (first === undefined) return []
    return [finding(`${at}.Name`, `Task ${index + 1} redefines '${name}' from task ${first + 1}`)]
  })
}

function checkRules(group: TaskGroup, path: string, job: Job): readonly Finding[] {
  const system = job.Type === 'system'
  return allOf(
    checkConstraints(group.Constraints, `${path}.Constraints`),
    system
      ? when(
          group.Affinities !== null &&
            finding(`${path}.Affinities`, 'System jobs may not have an affinity block'),
        )
      : checkAffinities(group.Affinities, `${path}.Affinities`),
    system
      ? when(
          group.Spreads !== null &&
            finding(`${path}.Spreads`, 'System jobs may not have a spread block'),
        )
      : checkSpreads(group.Spreads, `${path}.Spreads`),
  )
}

function checkPolicies(group: TaskGroup, path: string, job: Job): readonly Finding[] {
  const { Update: update, Migrate: migrate, MaxRunDuration: limit, Disconnect: gone } = group
  const refuses = (block: string): string => `Job type "${job.Type}" does not allow ${block} block`
  const ends = isBatchType(job.Type)
  const runsOn = job.Type === 'service' || job.Type === 'system'
  return allOf(
    checkRestart(group.RestartPolicy, `${path}.RestartPolicy`),
    checkReschedulePresence(group, `${path}.ReschedulePolicy`, job.Type),
    when(update !== null && ends && finding(`${path}.Update`, refuses('update'))),
    update === null ? [] : checkUpdate(update, `${path}.Update`),
    when(
      migrate !== null &&
        (ends || job.Type === 'system') &&
        finding(`${path}.Migrate`, refuses('migrate')),
    ),
    migrate === null ? [] : checkMigrate(migrate, `${path}.Migrate`),
    gone === null ? [] : checkDisconnect(gone, `${path}.Disconnect`, job.Type),
    when(
      limit !== null && runsOn && finding(`${path}.MaxRunDuration`, refuses('max_run_duration')),
    ),
    when(
      limit !== null &&
        limit <= 0 &&
        finding(`${path}.MaxRunDuration`, 'max_run_duration must be greater than zero'),
    ),
    when(
      group.EphemeralDisk.SizeMB < DISK_MB_MIN &&
        finding(
          `${path}.EphemeralDisk.SizeMB`,
          `minimum DiskMB value is ${DISK_MB_MIN}; got ${group.EphemeralDisk.SizeMB}`,
        ),
    ),
  )
}

function checkReschedulePresence(
  group: TaskGroup,
  path: string,
  jobType: string,
): readonly Finding[] {
  const policy = group.ReschedulePolicy
  if (isSystemType(jobType))
    return when(
      policy !== null &&
        finding(path, 'System or sysbatch jobs should not have a reschedule policy'),
    )
  if (policy !== null) return checkReschedule(policy, path)
  const needed = jobType === 'service' || jobType === 'batch'
  return when(needed && finding(path, `Task Group ${group.Name} should have a reschedule policy`))
}

function checkScaling(group: TaskGroup, path: string): readonly Finding[] {
  const policy = group.Scaling
  if (policy === null) return []
  const at = `${path}.Scaling`
  const { Min: minimum, Max: maximum } = policy
  return allOf(
    when(
      policy.Type !== 'horizontal' &&
        finding(
          `${at}.Type`,
          'Scaling policy invalid: the type of a group policy must be horizontal',
        ),
    ),
    checkScalingBounds(policy, at),
    when(
      maximum >= 0 &&
        group.Count > maximum &&
        finding(
          `${path}.Count`,
          'Scaling policy invalid: task group count must not be greater than maximum count in scaling policy',
        ),
    ),
    when(
      group.Count < minimum &&
        finding(
          `${path}.Count`,
          'Scaling policy invalid: task group count must not be less than minimum count in scaling policy',
        ),
    ),
  )
}
