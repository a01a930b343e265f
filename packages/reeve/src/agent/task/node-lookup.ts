import type { NodeInfo } from '../node-facts.ts'
import { getOwn } from '../own-value.ts'

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
