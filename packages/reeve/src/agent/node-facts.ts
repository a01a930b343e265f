import type { TaskAliases } from '../compat/index.ts'

/** Information about the node that tasks can reference. */
export interface NodeInfo {
  readonly ID: string
  readonly Name: string
  readonly Region: string
  readonly Datacenter: string
  readonly NodePool: string
  readonly NodeClass: string
  readonly Attributes: Readonly<Record<string, string>>
  readonly Meta: Readonly<Record<string, string>>
  /** Parent cgroup of the cgroups of tasks; empty or absent if there is none. */
  readonly CgroupParent?: string
  /** Alternative names in task environments and templates; none unless given. */
  readonly aliases?: TaskAliases
}
