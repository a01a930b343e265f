import type { TaskAliases } from '../compat/index.ts'

/** What tasks may know of the node they run on. */
export interface NodeFacts {
  readonly ID: string
  readonly Name: string
  readonly Region: string
  readonly Datacenter: string
  readonly NodePool: string
  readonly NodeClass: string
  readonly Attributes: Readonly<Record<string, string>>
  readonly Meta: Readonly<Record<string, string>>
  /** The control group that those of tasks are below; empty or absent where there is none. */
  readonly CgroupParent?: string
  /** Other names under which tasks and templates may know what is ours; none unless given. */
  readonly aliases?: TaskAliases
}
