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

/** Looks up node attributes by the names that job files and templates use. */
export function newNodeAttributeLookup(node: NodeInfo): (name: string) => string | undefined {
  const nodeFields = new Map([
    ['node.unique.id', node.ID],
    ['node.unique.name', node.Name],
    ['node.datacenter', node.Datacenter],
    ['node.region', node.Region],
    ['node.class', node.NodeClass],
    ['node.pool', node.NodePool],
  ])
  return (name) => {
    if (name.startsWith('attr.')) return getOwn(node.Attributes, name.slice('attr.'.length))
    if (name.startsWith('meta.')) return getOwn(node.Meta, name.slice('meta.'.length))
    return nodeFields.get(name)
  }
}

/**
 * Returns an own property of a map with arbitrary keys: inherited names such as `constructor` are
 * not found.
 */
export function getOwn<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
