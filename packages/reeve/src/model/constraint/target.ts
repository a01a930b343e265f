import type { Node } from '@reeve/contract'

/** What constraints can ask of a node. */
export type NodeProperties = Pick<
  Node,
  'ID' | 'Name' | 'Datacenter' | 'NodeClass' | 'NodePool' | 'Attributes' | 'Meta'
>

/** Gives the value that a target has on a node; undefined when the node has none. */
export type TargetReader = (node: NodeProperties) => string | undefined

const NODE_FIELDS: Readonly<Record<string, TargetReader>> = {
  'node.unique.id': (node) => node.ID,
  'node.unique.name': (node) => node.Name,
  'node.datacenter': (node) => node.Datacenter,
  'node.class': (node) => node.NodeClass,
  'node.pool': (node) => node.NodePool,
}

/**
 * Text that does not begin with `${` is itself; the known references are read from the node; any
 * other reference is never found.
 */
export function targetReader(target: string): TargetReader {
  if (!target.startsWith('${')) return () => target
  const name = referenceName(target)
  if (name === undefined) return () => undefined
  const attribute = keyAfter('attr.', name)
  if (attribute !== undefined) return (node) => find(node.Attributes, attribute)
  const meta = keyAfter('meta.', name)
  if (meta !== undefined) return (node) => find(node.Meta, meta)
  return find(NODE_FIELDS, name) ?? (() => undefined)
}

/** Whether a reference is one that nodes can answer. */
export function isNodeTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('attr.', name) || hasKey('meta.', name) || Object.hasOwn(NODE_FIELDS, name)
}

/** What the constraints of a requested device may name. */
export function isDeviceTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('device.attr.', name) || /^device\.(vendor|type|model|ids)$/.test(name)
}

/**
 * Whether nodes of one class may differ in it: then the class decides nothing about a constraint
 * that names it.
 */
export function isUniqueTarget(target: string): boolean {
  const name = referenceName(target)
  return name !== undefined && /^(?:node|attr|meta)\.unique\./.test(name)
}

function referenceName(target: string): string | undefined {
  return target.startsWith('${') && target.endsWith('}') ? target.slice(2, -1).trim() : undefined
}

function hasKey(prefix: string, name: string): boolean {
  return keyAfter(prefix, name) !== undefined
}

function keyAfter(prefix: string, name: string): string | undefined {
  return name.startsWith(prefix) && name.length > prefix.length
    ? name.slice(prefix.length)
    : undefined
}

/** Names come from jobs, so `constructor` must not find what every object inherits. */
function find<T>(map: Readonly<Record<string, T>> | null, key: string): T | undefined {
  return map !== null && Object.hasOwn(map, key) ? map[key] : undefined
}
