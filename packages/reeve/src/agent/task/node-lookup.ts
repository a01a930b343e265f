import type { NodeFacts } from '../node-facts.ts'
import { ownValue } from '../own-value.ts'

/** What is known about the node, by the name that job files and templates use. */
export function nodeLookup(node: NodeFacts): (name: string) => string | undefined {
  const own = new Map([
    ['node.unique.id', node.ID],
    ['node.unique.name', node.Name],
    ['node.datacenter', node.Datacenter],
    ['node.region', node.Region],
    ['node.class', node.NodeClass],
    ['node.pool', node.NodePool],
  ])
  return (name) => {
    if (name.startsWith('attr.')) return ownValue(node.Attributes, name.slice('attr.'.length))
    if (name.startsWith('meta.')) return ownValue(node.Meta, name.slice('meta.'.length))
    return own.get(name)
  }
}
