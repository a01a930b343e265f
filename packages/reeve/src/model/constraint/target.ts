import type { Node } from '@reeve/contract'

/** Node properties that constraints can reference. */
export type NodeProperties = Pick<
  Node,
  'ID' | 'Name' | 'Datacenter' | 'NodeClass' | 'NodePool' | 'Attributes' | 'Meta'
>

/** Returns the value of a target on a node; undefined if the node has none. */
export type TargetReader = (node: NodeProperties) => string | undefined

const NODE_FIELDS: Readonly<Record<string, TargetReader>> = {
  'node.unique.id': (node) => node.ID,
  'node.unique.name': (node) => node.Name,
  'node.datacenter': (node) => node.Datacenter,
  'node.class': (node) => node.NodeClass,
  'node.pool': (node) => node.NodePool,
}

/**
 * Compiles a target. Text without a `${` prefix is literal; known references are read from the
 * node; unknown references have no value.
 */
export function targetReader(target: string): TargetReader {
  if (!target.startsWith('${')) return () => target
  const name = referenceName(target)
  if (name === undefined) return () => undefined
  const attribute = keyAfter('attr.', name)
  if (attribute !== undefined) return (node) => findOwn(node.Attributes, attribute)
  const meta = keyAfter('meta.', name)
  if (meta !== undefined) return (node) => findOwn(node.Meta, meta)
  return findOwn(NODE_FIELDS, name) ?? (() => undefined)
}

/** Reports whether a reference can be read from a node. */
export function isNodeTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('attr.', name) || hasKey('meta.', name) || Object.hasOwn(NODE_FIELDS, name)
}

/** Reports whether the constraints of a device request may reference the target. */
export function isDeviceTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('device.attr.', name) || /^device\.(vendor|type|model|ids)$/.test(name)
}

/**
 * Reports whether nodes of one class may differ in the target: constraints with it cannot be
 * checked by class.
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

/**
 * Looks up a name given by a job, which must not find inherited properties such as `constructor`.
 */
function findOwn<T>(map: Readonly<Record<string, T>> | null, key: string): T | undefined {
  return map !== null && Object.hasOwn(map, key) ? map[key] : undefined
}
