import type { Input, Job, TaskGroup } from '@reeve/contract'
import type { Grants } from '../../acl/index.ts'

/**
 * Reports whether the submitter may mount the volumes of a job's groups, and run storage plugins.
 * Write permission includes read-only mounts.
 */
export function mayUseVolumes(
  grants: Grants,
  namespace: string,
  job: Pick<Input<Job>, 'TaskGroups'> | null | undefined,
): boolean {
  return (job?.TaskGroups ?? []).every(
    (group) => mayMount(grants, namespace, group) && mayRunStoragePlugins(grants, namespace, group),
  )
}

function mayMount(grants: Grants, namespace: string, { Volumes }: Input<TaskGroup>): boolean {
  return Object.values(Volumes ?? {}).every((volume) => {
    if (volume?.Type === 'csi') return grants.allows(namespace, 'csi-mount-volume')
    const source = volume?.Source ?? ''
    if (grants.hostVolume(source, 'mount-readwrite')) return true
    return volume?.ReadOnly === true && grants.hostVolume(source, 'mount-readonly')
  })
}

function mayRunStoragePlugins(
  grants: Grants,
  namespace: string,
  { Tasks }: Input<TaskGroup>,
): boolean {
  const isPlugin = (Tasks ?? []).some((task) => Boolean(task.CSIPluginConfig))
  return !isPlugin || grants.allows(namespace, 'csi-register-plugin')
}
