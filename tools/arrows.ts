import { posix } from 'node:path'
import type { Area, Areas } from './source/areas.ts'
import {
  createGraph,
  findCycles,
  type Graph,
  type Package,
  type ResolvedUse,
} from './source/graph.ts'
import { type Finding, loadAreas, report, REPOSITORY_ROOT } from './source/finding.ts'
import {
  isConfig,
  isTest,
  isTestSupport,
  openRepository,
  type Repository,
} from './source/repository.ts'
import { readSources, type Source } from './source/tree.ts'

/** Checks every import of `packages/` against the areas of `arrows.config.mjs`. */
export function checkImports(repository: Repository, areas: Areas): Finding[] {
  const findings: Finding[] = []
  const sources = readSources(repository, (path, { line, message }) =>
    findings.push({ path, line, rule: 'syntax', message }),
  )
  const graph = createGraph(repository, sources)
  const paths = [...sources.keys()].filter((path) => path.startsWith('packages/'))
  for (const path of paths) {
    findings.push(...checkAreaOf(path, areas), ...checkEntryPoint(sources.get(path), areas))
    for (const use of graph.usesOf(path)) {
      const message = importError({ path, use, graph, areas })
      if (message !== undefined) findings.push({ path, line: use.line, rule: 'arrow', message })
    }
  }
  return [...findings, ...checkCycles(paths, graph)]
}

function checkAreaOf(path: string, areas: Areas): Finding[] {
  const isProduct = /^packages\/[^/]+\/src\//.test(path)
  if (!isProduct || areas.areaOf(path) !== undefined) return []
  const message = 'belongs to no area of arrows.config.mjs'
  return [{ path, line: 1, rule: 'arrow', message }]
}

/** Entry points may only re-export, so that importing a folder has no side effects. */
function checkEntryPoint(source: Source | undefined, areas: Areas): Finding[] {
  const area = source === undefined ? undefined : areas.areaOf(source.path)
  if (source === undefined || area === undefined || !isEntryPoint(source.path, area)) return []
  const body: unknown = source.program['body']
  const statements: readonly Source['program'][] = Array.isArray(body) ? body : []
  return statements
    .filter(({ type, source: from }) => !(type.startsWith('Export') && Boolean(from)))
    .map(({ loc }) => ({
      path: source.path,
      line: loc.start.line,
      rule: 'arrow',
      message: 'a door only re-exports: move this into a file of its own',
    }))
}

function isEntryPoint(path: string, area: Area): boolean {
  return !area.open && area.doors.includes(posix.relative(area.folder, path))
}

interface ImportCheck {
  readonly path: string
  readonly use: ResolvedUse
  readonly graph: Graph
  readonly areas: Areas
}

/** Returns why the import is not allowed; undefined if it is. */
function importError(check: ImportCheck): string | undefined {
  const { path, use } = check
  switch (use.target.kind) {
    case 'missing':
      return `${use.specifier} names no file of this repository`
    case 'builtin':
      return builtinError(check)
    case 'package':
      return packageError(check, use.target.name)
    case 'file':
      return ownEntryPointError(path, use.target.path) ?? fileError(check, use.target.path)
  }
}

function builtinError({ path, use, areas }: ImportCheck): string | undefined {
  const area = areas.areaOf(path)
  if (area === undefined || area.builtins || isTest(path)) return undefined
  return area.pure
    ? `${area.name} is pure and may not import ${use.specifier}: be handed what it gives`
    : `${area.name} may not import ${use.specifier}: it must run anywhere`
}

function packageError({ path, areas, graph }: ImportCheck, name: string): string | undefined {
  const undeclared = dependencyError(path, graph, name)
  if (undeclared !== undefined) return undeclared
  const area = areas.areaOf(path)
  if (area === undefined || isForTests(path) || area.packages.includes(name)) return undefined
  return `${area.name} may not import the package ${name}`
}

function dependencyError(path: string, graph: Graph, name: string): string | undefined {
  const own = graph.resolver.packageOf(path)
  if (own?.dependencies.has(name) === true) return undefined
  if (isForTests(path) && isDevelopment(graph, own, name)) return undefined
  return `${name} is not a dependency of ${own?.name ?? 'this repository'}`
}

/** Imports of tests and builds are not needed when the product runs. */
function isForTests(path: string): boolean {
  return isTest(path) || isTestSupport(path) || isConfig(path)
}

function isDevelopment({ resolver }: Graph, own: Package | undefined, name: string): boolean {
  const root: Package | undefined = resolver.packages.find(({ folder }) => folder === '')
  return [root, own].some((manifest) => manifest?.devDependencies.has(name) === true)
}

function ownEntryPointError(path: string, target: string): string | undefined {
  // A test may import the entry point itself to verify its exports.
  if (isTest(path) || isTestSupport(path) || posix.basename(target) !== 'index.ts') return undefined
  const isInside = path.startsWith(`${posix.dirname(target)}/`)
  return isInside ? 'inside a folder import the file, never your own door' : undefined
}

function fileError({ path, use, areas, graph }: ImportCheck, target: string): string | undefined {
  const from = areas.areaOf(path)
  const to = areas.areaOf(target)
  const foreign = foreignPackageError({ path, use, areas, graph }, target)
  if (foreign !== undefined) return foreign
  if (from === undefined || from === to) return undefined
  if (to === undefined)
    return isTest(path) && isTestSupport(target)
      ? undefined
      : `${from.name} may not import ${target}`
  if (to.open) return undefined
  return arrowError(from, to, use) ?? entryPointError(to, target)
}

/** Files of another package are imported by package name, which must be a dependency. */
function foreignPackageError(
  { path, use, graph }: ImportCheck,
  target: string,
): string | undefined {
  const own = graph.resolver.packageOf(path)
  const other = graph.resolver.packageOf(target)
  if (own === other || other === undefined) return undefined
  if (use.specifier.startsWith('.')) return 'enter another package by its name, not by its path'
  return dependencyError(path, graph, other.name)
}

function arrowError(from: Area, to: Area, use: ResolvedUse): string | undefined {
  if (from.may.includes(to.name)) return undefined
  if (!from.types.includes(to.name)) return `${from.name} may not import ${to.name}`
  return use.isTypeOnly ? undefined : `${from.name} may import only types of ${to.name}`
}

function entryPointError(to: Area, target: string): string | undefined {
  if (isEntryPoint(target, to)) return undefined
  return `enter ${to.name} through its door (${to.doors.join(', ')}), not ${target}`
}

/** Type-only imports count too: files that use types of each other belong together. */
function checkCycles(paths: readonly string[], graph: Graph): Finding[] {
  const known = new Set(paths)
  const next = (path: string) =>
    graph
      .usesOf(path)
      .flatMap(({ kind, target }) =>
        kind !== 'reference' && target.kind === 'file' && known.has(target.path)
          ? [target.path]
          : [],
      )
  return findCycles(paths, next).map((cycle) => ({
    path: cycle[0] ?? '',
    line: 1,
    rule: 'cycle',
    message: cycle.join(' ► '),
  }))
}

if (import.meta.main)
  report('arrows', checkImports(openRepository(REPOSITORY_ROOT), await loadAreas()))
