import { isArray, ObjectValue, type Value } from '../value/value.ts'

/**
 * Resolves a reference such as `#/definitions/name`. Only references within the document are
 * supported; nothing is fetched.
 */
export function resolveReference(root: Value, reference: string): Value | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return findById(root, reference)
  let value: Value | undefined = root
  for (const raw of reference.slice(2).split('/')) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isArray(value)) value = /^[0-9]{1,9}$/.test(segment) ? value[Number(segment)] : undefined
    else value = value instanceof ObjectValue ? value.get(segment) : undefined
  }
  return value
}

function findById(root: Value, id: string): Value | undefined {
  if (!(root instanceof ObjectValue)) return undefined
  for (const place of ['definitions', '$defs']) {
    const definitions = root.get(place)
    if (!(definitions instanceof ObjectValue)) continue
    for (const one of definitions.values())
      if (one instanceof ObjectValue && (one.get('$id') === id || one.get('id') === id)) return one
  }
  return undefined
}
