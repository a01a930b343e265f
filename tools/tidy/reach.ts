import type { Finding } from '../source/finding.ts'
import type { Graph } from '../source/graph.ts'
import { isConfig, isTest } from '../source/repository.ts'

/** Files that something outside the import graph starts: people, npm, the test runner. */
function isEntry(path: string): boolean {
  return (
    path === 'packages/reeve/src/main/reeve.ts' ||
    path === 'packages/web/src/main.tsx' ||
    isTest(path) ||
    /^packages\/[^/]+\/bench\/[^/]+\.bench\.ts$/.test(path) ||
    /^packages\/[^/]+\/fuzz\/[^/]+\.fuzz\.ts$/.test(path) ||
    /^packages\/[^/]+\/sim\/[^/]+\.ts$/.test(path) ||
    /^tools\/[^/]+$/.test(path) ||
    isConfig(path)
  )
}

/** Sources no entry leads to, and exports of the others that are never imported. */
export function checkReach(graph: Graph): Finding[] {
  const dead = findDeadFiles(graph)
  const message = 'no entry leads here: import it or delete it'
  const files = [...dead].map((path) => ({ path, line: 1, rule: 'dead-file', message }))
  return [...files, ...checkExports(graph).filter(({ path }) => !dead.has(path))]
}

function findDeadFiles(graph: Graph): ReadonlySet<string> {
  const paths = [...graph.modules.keys()]
  const reached = new Set([...paths.filter(isEntry), ...packageDoors(graph)])
  // A set keeps its order and grows while it is read: what is added below is visited too.
  for (const path of reached)
    for (const { target } of graph.usesOf(path))
      if (target.kind === 'file') reached.add(target.path)
  return new Set(paths.filter((path) => !reached.has(path)))
}

/** Exports of the entry module of a package are for consumers outside the repository. */
function checkExports(graph: Graph): Finding[] {
  const used = usedExports(graph)
  const findings: Finding[] = []
  for (const [path, { exports }] of graph.modules) {
    if (isConfig(path)) continue
    // The type of something that is exported belongs to it, whether or not it is imported by name.
    const values = exports.filter(({ isType }) => !isType)
    const lines = new Map(values.toReversed().map(({ name, line }) => [name, line]))
    for (const [name, line] of lines) {
      const message = `${name} is imported nowhere: do not export it, or delete it`
      if (!used.has(keyOf(path, name))) findings.push({ path, line, rule: 'dead-export', message })
    }
  }
  return findings
}

function usedExports(graph: Graph): ReadonlySet<string> {
  const used = new Set<string>()
  for (const door of packageDoors(graph)) markAll(graph, door, used)
  for (const path of graph.modules.keys())
    for (const { target, names } of graph.usesOf(path)) {
      if (target.kind !== 'file') continue
      if (names === 'all') markAll(graph, target.path, used)
      else for (const name of names) markName(graph, { path: target.path, name }, used)
    }
  return used
}

function markAll(graph: Graph, path: string, used: Set<string>): void {
  const everything = keyOf(path, '*')
  if (used.has(everything)) return
  used.add(everything)
  for (const { name } of graph.modules.get(path)?.exports ?? []) used.add(keyOf(path, name))
  for (const target of starsOf(graph, path)) markAll(graph, target, used)
}

/** Marks the name where it is declared, through any chain of `export *`. */
function markName(
  graph: Graph,
  { path, name }: { readonly path: string; readonly name: string },
  used: Set<string>,
): void {
  const key = keyOf(path, name)
  if (used.has(key)) return
  used.add(key)
  const declares = graph.modules.get(path)?.exports.some((one) => one.name === name) === true
  if (declares) return
  for (const target of starsOf(graph, path)) markName(graph, { path: target, name }, used)
}

function starsOf(graph: Graph, path: string): string[] {
  const stars = graph.modules.get(path)?.stars ?? []
  return stars.flatMap((specifier) => {
    const target = graph.resolver.resolve(path, specifier)
    return target.kind === 'file' ? [target.path] : []
  })
}

function packageDoors(graph: Graph): string[] {
  return graph.resolver.packages
    .flatMap(({ exports }) => [...exports.values()])
    .filter((path) => graph.modules.has(path))
}

function keyOf(path: string, name: string): string {
  return `${path}#${name}`
}
