import type { Job, NetworkResource, Task, TaskGroup } from '@reeve/contract'
import { ignoredInGroup, ignoredInTask } from './ignored-arguments.ts'
import { findUnsafeInteger } from './rounded-number.ts'

/**
 * Returns warnings about a valid job that is probably not as intended. `Periodic.Spec` is not among
 * them: it is the documented field.
 */
export function jobWarnings(job: Job): readonly string[] {
  const groups = job.TaskGroups.flatMap((group) =>
    groupWarnings(group).map((text) => `Group "${group.Name}": ${text}`),
  )
  return [...promotionWarnings(job), ...groups]
}

/**
 * Promotion applies to the whole deployment, so one group that requires manual promotion delays the
 * others.
 */
function promotionWarnings(job: Job): readonly string[] {
  const canaried = job.TaskGroups.filter((group) => (group.Update?.Canary ?? 0) > 0)
  const automatic = canaried.filter((group) => group.Update?.AutoPromote === true)
  if (automatic.length === 0 || automatic.length === canaried.length) return []
  return ['auto_promote must be true for all groups to enable automatic promotion']
}

function groupWarnings(group: TaskGroup): readonly string[] {
  const parallel = group.Update?.MaxParallel ?? 0
  const exceedsCount = group.Count > 1 && parallel > group.Count
  return [
    ...(exceedsCount
      ? [
          `Update max parallel count is greater than task group count (${parallel} > ${group.Count}). A destructive change would result in the simultaneous replacement of all allocations.`,
        ]
      : []),
    ...deprecationWarnings(group),
    ...networkWarnings(group.Networks),
    ...shutdownWarnings(group),
    ...ignoredInGroup(group),
    ...unsafeIntegerWarnings('scaling policy', group.Scaling?.Policy),
    ...group.Tasks.flatMap((task) =>
      taskWarnings(task).map((text) => `Task "${task.Name}": ${text}`),
    ),
  ]
}

function deprecationWarnings(group: TaskGroup): readonly string[] {
  return [
    ...(group.MaxClientDisconnect === null
      ? []
      : ['max_client_disconnect is deprecated, use disconnect.lost_after']),
    ...(group.StopAfterClientDisconnect === null
      ? []
      : ['stop_after_client_disconnect is deprecated, use disconnect.stop_on_client_after']),
    ...(group.PreventRescheduleOnLost
      ? ['prevent_reschedule_on_lost is deprecated, use disconnect.replace']
      : []),
  ]
}

function networkWarnings(networks: readonly NetworkResource[] | null): readonly string[] {
  return (networks ?? []).some((network) => network.MBits > 0)
    ? ['mbits has been deprecated and is ignored']
    : []
}

/** Without a delay, clients may still connect to an instance that is stopping. */
function shutdownWarnings(group: TaskGroup): readonly string[] {
  const tasksServe = group.Tasks.some((task) => task.Services !== null)
  const hasServices = tasksServe || group.Services !== null
  const hasDelay =
    (group.ShutdownDelay ?? 0) > 0 || group.Tasks.some((task) => task.ShutdownDelay > 0)
  return hasServices && !hasDelay
    ? [
        'its services have no shutdown_delay, so callers may reach an allocation that is ' +
          'stopping; set shutdown_delay = "5s" in the group',
      ]
    : []
}

function taskWarnings(task: Task): readonly string[] {
  const { IOPS: iops, DiskMB: diskMB, Networks: networks } = task.Resources
  return [
    ...driverWarnings(task.Driver),
    ...(diskMB === 0
      ? []
      : ['disk resources of tasks are ignored, use the ephemeral_disk block of the group']),
    ...(iops > 0 ? ['IOPS has been deprecated and is ignored'] : []),
    ...(networks === null
      ? []
      : ['task network resources are deprecated, use the network of the group']),
    ...networkWarnings(networks),
    ...ignoredInTask(task),
    ...unsafeIntegerWarnings('config', task.Config),
    ...(task.ScalingPolicies ?? []).flatMap(({ Policy }) =>
      unsafeIntegerWarnings('scaling policy', Policy),
    ),
  ]
}

/**
 * Warns about integers that lost digits when the body was parsed; the original value is unknown.
 */
function unsafeIntegerWarnings(
  label: string,
  settings: object | null | undefined,
): readonly string[] {
  const found = findUnsafeInteger(settings)
  if (found === undefined) return []
  const explanation = `whole numbers beyond 2^53 lose digits, and ${found.value} is kept`
  return [`${label} ${found.path}: ${explanation}; write it as a string`]
}

/** An identifier without quotes in a job file is a reference, not a driver's name. */
function driverWarnings(driver: string): readonly string[] {
  return driver.startsWith('${')
    ? [
        `driver "${driver}" is a reference, and no node has a driver of that name: write the name in quotes`,
      ]
    : []
}
