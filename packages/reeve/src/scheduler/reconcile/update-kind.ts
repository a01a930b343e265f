import type { Job, NetworkResource, Port, Task, TaskGroup } from '@reeve/contract'
import { isEqual } from '../../model/index.ts'

/**
 * Whether a running allocation of one version of a group can become one of another without being
 * replaced (scheduling reference §6.6). Fields that are not listed here, such as counts, services
 * and constraints, an agent can take over while the tasks run.
 */
export function needsReplacement(before: Job, after: Job, groupName: string): boolean {
  const [old, next] = [groupOf(before, groupName), groupOf(after, groupName)]
  if (old === undefined || next === undefined) return true
  if (!isEqual(groupTraits(old), groupTraits(next))) return true
  const tasks = new Map(old.Tasks.map((task) => [task.Name, task]))
  return next.Tasks.some((task) => {
    const same = tasks.get(task.Name)
    if (same === undefined) return true
    return !isEqual(taskTraits(same, old, before), taskTraits(task, next, after))
  })
}

function groupOf(job: Job, name: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === name)
}

function groupTraits(group: TaskGroup) {
  return {
    tasks: group.Tasks.length,
    disk: group.EphemeralDisk,
    networks: group.Networks?.map(networkTraits) ?? null,
    volumes: group.Volumes,
    discovery: group.Discovery,
    connect: (group.Services ?? [])
      .filter((service) => service.Connect !== null)
      .map((service) => [service.Name, service.PortLabel, service.Connect]),
    renderTemplates: group.RestartPolicy.RenderTemplates,
  }
}

function taskTraits(task: Task, group: TaskGroup, job: Job) {
  const { CPU, Cores, MemoryMB, MemoryMaxMB, Devices, NUMA, SecretsMB, Networks } = task.Resources
  return {
    driver: task.Driver,
    user: task.User,
    config: task.Config,
    env: task.Env,
    artifacts: task.Artifacts,
    secretStore: task.SecretStore,
    secrets: task.Secrets,
    templates: task.Templates,
    storagePlugin: task.CSIPluginConfig,
    volumeMounts: task.VolumeMounts,
    // What the task sees: its own keys over those of its group over those of its job.
    meta: { ...job.Meta, ...group.Meta, ...task.Meta },
    resources: { CPU, Cores, MemoryMB, MemoryMaxMB, Devices, NUMA, SecretsMB },
    networks: Networks?.map(networkTraits) ?? null,
    identity: task.Identity,
    identities: task.Identities,
    logsDisabled: task.LogConfig.Disabled,
    renderTemplates: task.RestartPolicy.RenderTemplates,
  }
}

/** A dynamic port's number was chosen by us, so it is no part of what was asked for. */
function networkTraits(network: NetworkResource) {
  const { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, DynamicPorts } = network
  const dynamic = (DynamicPorts ?? []).map((port: Port) => ({ ...port, Value: 0 }))
  return { Mode, MBits, Hostname, DNS, CNI, ReservedPorts, dynamic }
}
