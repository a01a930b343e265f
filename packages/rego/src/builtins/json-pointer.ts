import { isArray, type Value } from '../value/value.ts'

/** A JSON pointer, or its segments one by one; nothing for anything else. */
export function parsePath(path: Value): readonly Value[] | undefined {
  if (isArray(path)) return path
  if (typeof path !== 'string') return undefined
  if (path === '') return []
  return path
    .replace(/^\/+/, '')
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}
