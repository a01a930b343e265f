import type { VirtualDocument, SourceLocation } from './ir.ts'
import { throwCompileError } from './unit.ts'

/** Refuses documents that depend on themselves. */
export function checkRecursion(groups: readonly VirtualDocument[]): void {
  const done = new Set<VirtualDocument>()
  for (const group of groups) if (!done.has(group)) search(group, done)
}

interface Visit {
  readonly group: VirtualDocument
  readonly edges: Iterator<[VirtualDocument, SourceLocation | undefined]>
}

/** Depth first without recursion of our own: a chain of rules may be as long as the text allows. */
function search(start: VirtualDocument, done: Set<VirtualDocument>): void {
  const path: Visit[] = [{ group: start, edges: edgesOf(start) }]
  const open = new Set([start])
  for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
    const edge = visit.edges.next()
    if (edge.done === true) {
      path.pop()
      open.delete(visit.group)
      done.add(visit.group)
      continue
    }
    const [group, place] = edge.value
    if (open.has(group)) report(path, group, place)
    if (done.has(group)) continue
    open.add(group)
    path.push({ group, edges: edgesOf(group) })
  }
}

function edgesOf(group: VirtualDocument): Iterator<[VirtualDocument, SourceLocation | undefined]> {
  const below = group.nested.map((entry): [VirtualDocument, undefined] => [entry.group, undefined])
  return [...group.reads, ...below][Symbol.iterator]()
}

function report(
  path: readonly Visit[],
  again: VirtualDocument,
  place: SourceLocation | undefined,
): void {
  const from = path.findIndex(({ group }) => group === again)
  const names = [...path.slice(from).map(({ group }) => group.name), again.name]
  const rule = again.rules[0] ?? again.default
  const where =
    place ?? (rule === undefined ? undefined : { source: rule.source, at: rule.rule.at })
  if (where === undefined) return
  throwCompileError(
    { ...where, code: 'rego_recursion_error' },
    `rule ${again.name} is recursive: ${names.join(' -> ')}`,
  )
}
