import type { Module } from './tree.ts'

/** Where something stands is not what it means. */
const PLACES: ReadonlySet<string> = new Set(['at', 'row', 'column', 'packageAt', 'packageRow'])

/** Whether two modules say the same with the same remarks, wherever it stands. */
export function isSameProgram(left: Module, right: Module): boolean {
  return isSame(remarked(left), remarked(right))
}

/** White space at the end of a remark is none of it. */
function remarked(module: Module): Module {
  const comments = module.comments.map((comment) => ({ ...comment, text: comment.text.trimEnd() }))
  return { ...module, comments }
}

/** As deep as a module can be nested. */
function isSame(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return false
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, at) => isSame(item, right[at]))
  const others = membersOf(right)
  const members = [...membersOf(left)]
  return (
    members.length === others.size &&
    members.every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  )
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([name]) => !PLACES.has(name)))
}
