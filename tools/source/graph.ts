import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Repository } from './repository.ts'
import { lineOf, nodeAt, nodesAt, type Source, type SyntaxNode, textAt } from './tree.ts'

/** All sources and their imports. */
export interface Graph {
  readonly resolver: Resolver
  readonly modules: ReadonlyMap<string, Module>
  usesOf(path: string): readonly ResolvedUse[]
}

export interface ResolvedUse extends ModuleUse {
  readonly target: Target
}

export function createGraph(repository: Repository, sources: ReadonlyMap<string, Source>): Graph {
  const resolver = createResolver(repository)
  const modules = new Map([...sources].map(([path, source]) => [path, readModule(source)]))
  const uses = new Map(
    [...modules].map(([path, module]) => [path, resolveUses(resolver, path, module)]),
  )
  return { resolver, modules, usesOf: (path) => uses.get(path) ?? [] }
}

function resolveUses(resolver: Resolver, path: string, module: Module): ResolvedUse[] {
  const resolved = module.uses.map((use) => ({
    ...use,
    target: resolver.resolve(path, use.specifier),
  }))
  // An address may name a folder or a file of data; only addresses of modules concern us.
  return resolved.filter((use) => use.kind !== 'reference' || use.target.kind === 'file')
}

/** The target of an import specifier, resolved from a file. */
type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'builtin' }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'missing' }

/** One package.json of the repository. */
export interface Package {
  readonly name: string
  /** `packages/sdk`, or '' for the root. */
  readonly folder: string
  readonly dependencies: ReadonlySet<string>
  readonly devDependencies: ReadonlySet<string>
  /**
   * Subpath to file, relative to the root: `./v1` to `packages/contract/src/v1/index.ts`. Both may
   * hold one `*`.
   */
  readonly exports: ReadonlyMap<string, string>
}

function readPackages(repository: Repository): Package[] {
  return repository.files
    .filter((path) => path === 'package.json' || /^packages\/[^/]+\/package\.json$/.test(path))
    .map((path) => readPackage(path, JSON.parse(repository.read(path))))
}

function readPackage(path: string, manifest: unknown): Package {
  const folder = path === 'package.json' ? '' : posix.dirname(path)
  const name = asRecord(manifest)['name']
  const exports = Object.entries(recordAt(manifest, 'exports')).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [[subpath, posix.join(folder, target)] as const] : [],
  )
  return {
    name: typeof name === 'string' ? name : '',
    folder,
    dependencies: new Set(Object.keys(recordAt(manifest, 'dependencies'))),
    devDependencies: new Set(Object.keys(recordAt(manifest, 'devDependencies'))),
    exports: new Map(exports),
  }
}

function recordAt(value: unknown, field: string): Record<string, unknown> {
  return asRecord(asRecord(value)[field])
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

interface Resolver {
  readonly packages: readonly Package[]
  resolve(from: string, specifier: string): Target
  /** The package whose folder holds the file. */
  packageOf(path: string): Package | undefined
}

function createResolver(repository: Repository): Resolver {
  const packages = readPackages(repository)
  const byName = new Map(packages.map((one) => [one.name, one]))
  return {
    packages,
    packageOf: (path) => innermost(packages, path),
    resolve(from, specifier) {
      if (specifier.startsWith('.')) return relative(repository, from, specifier)
      if (isBuiltin(specifier)) return { kind: 'builtin' }
      const name = packageName(specifier)
      const own = byName.get(name)
      if (own === undefined) return { kind: 'package', name }
      const path = exportedFile(own, `.${specifier.slice(name.length)}`)
      return path !== undefined && repository.isFile(path)
        ? { kind: 'file', path }
        : { kind: 'missing' }
    },
  }
}

/** As Node does it: the exact subpath, else the pattern with the longest beginning. */
function exportedFile({ exports }: Package, subpath: string): string | undefined {
  const exact = exports.get(subpath)
  if (exact !== undefined) return exact
  const [pattern, target] =
    [...exports]
      .filter(([key]) => key.endsWith('/*') && subpath.startsWith(key.slice(0, -1)))
      .toSorted(([a], [b]) => b.length - a.length)[0] ?? []
  if (pattern === undefined || target === undefined) return undefined
  return target.replace('*', subpath.slice(pattern.length - 1))
}

function relative(repository: Repository, from: string, specifier: string): Target {
  const path = posix.join(posix.dirname(from), specifier)
  return repository.isFile(path) ? { kind: 'file', path } : { kind: 'missing' }
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function innermost(packages: readonly Package[], path: string): Package | undefined {
  return packages
    .filter(({ folder }) => folder === '' || path.startsWith(`${folder}/`))
    .toSorted((a, b) => b.folder.length - a.folder.length)[0]
}

/** The shortest cycle through each knot of a directed graph, first node repeated at the end. */
export function findCycles(
  nodes: readonly string[],
  next: (node: string) => readonly string[],
): string[][] {
  return findKnots(nodes, next).map((knot) => shortestCycle(knot, next))
}

interface Visit {
  readonly order: number
  low: number
  isOpen: boolean
}

/** Tarjan's strongly connected components of more than one node, or one that points to itself. */
function findKnots(
  nodes: readonly string[],
  next: (node: string) => readonly string[],
): string[][] {
  const visits = new Map<string, Visit>()
  const open: string[] = []
  const knots: string[][] = []

  const visit = (node: string): Visit => {
    const mine: Visit = { order: visits.size, low: visits.size, isOpen: true }
    visits.set(node, mine)
    open.push(node)
    for (const child of next(node)) {
      const known = visits.get(child)
      if (known === undefined) mine.low = Math.min(mine.low, visit(child).low)
      else if (known.isOpen) mine.low = Math.min(mine.low, known.order)
    }
    if (mine.low === mine.order) {
      const knot = open.splice(open.indexOf(node))
      for (const member of knot) close(visits.get(member))
      if (knot.length > 1 || next(node).includes(node)) knots.push(knot.toSorted())
    }
    return mine
  }
  for (const node of nodes) if (!visits.has(node)) visit(node)
  return knots
}

function close(visit: Visit | undefined): void {
  if (visit !== undefined) visit.isOpen = false
}

/** Breadth first from the knot's first node back to itself. */
function shortestCycle(
  knot: readonly string[],
  next: (node: string) => readonly string[],
): string[] {
  const [start = ''] = knot
  const inside = new Set(knot)
  const reached = new Set<string>()
  let paths: string[][] = [[start]]
  while (paths.length > 0) {
    const longer: string[][] = []
    for (const path of paths)
      for (const child of next(path.at(-1) ?? start)) {
        if (child === start) return [...path, start]
        if (!inside.has(child) || reached.has(child)) continue
        reached.add(child)
        longer.push([...path, child])
      }
    paths = longer
  }
  return [...knot]
}

/** Imports and exports of a file. */
interface Module {
  readonly uses: readonly ModuleUse[]
  readonly exports: readonly ExportedName[]
  /** Specifiers of `export * from`. */
  readonly stars: readonly string[]
}

interface ModuleUse {
  readonly specifier: string
  readonly line: number
  /** `reference`: named by address only, as `new URL('./worker.ts', import.meta.url)` does. */
  readonly kind: 'import' | 'reexport' | 'dynamic' | 'reference'
  readonly isTypeOnly: boolean
  /** `all` if the names are unknown, as with `import * as x`. */
  readonly names: readonly string[] | 'all'
}

interface ExportedName {
  readonly name: string
  readonly line: number
  /** An interface or type alias: gone when the program runs. */
  readonly isType: boolean
}

function readModule(source: Source): Module {
  const uses: ModuleUse[] = []
  const exports: ExportedName[] = []
  const stars: string[] = []
  for (const { node } of source.nodes) {
    const use = useOf(node)
    if (use !== undefined) uses.push(use)
    exports.push(...exportsOf(node))
    if (node.type === 'ExportAllDeclaration') {
      const specifier = stringOf(nodeAt(node, 'source'))
      if (specifier !== undefined) stars.push(specifier)
    }
  }
  return { uses, exports, stars }
}

/** The import a node makes, in any of the forms the language has for it. */
function useOf(node: SyntaxNode): ModuleUse | undefined {
  const form = formOf(node)
  const specifier = stringOf(form?.specifier)
  if (form === undefined || specifier === undefined) return undefined
  return { isTypeOnly: false, names: 'all', ...form.use, specifier, line: lineOf(node) }
}

interface Form {
  readonly specifier: SyntaxNode | undefined
  readonly use: Pick<ModuleUse, 'kind'> & Partial<Pick<ModuleUse, 'isTypeOnly' | 'names'>>
}

function formOf(node: SyntaxNode): Form | undefined {
  const specifier = nodeAt(node, 'source')
  switch (node.type) {
    case 'ImportDeclaration':
      return { specifier, use: { kind: 'import', ...namesOf(node, 'importKind', 'imported') } }
    case 'ExportNamedDeclaration':
      return { specifier, use: { kind: 'reexport', ...namesOf(node, 'exportKind', 'local') } }
    case 'ExportAllDeclaration':
      // Names re-exported by a star are resolved through `stars`; the statement itself uses none.
      return {
        specifier,
        use: { kind: 'reexport', isTypeOnly: isType(node, 'exportKind'), names: [] },
      }
    case 'ImportExpression':
      return { specifier, use: { kind: 'dynamic' } }
    case 'TSImportType':
      return { specifier: importedType(node), use: { kind: 'import', isTypeOnly: true } }
    case 'CallExpression':
      return callForm(node)
    case 'NewExpression':
      return addressForm(node)
    default:
      return undefined
  }
}

/** `import('./a.ts').A` in a type; parsers differ in where they keep the text. */
function importedType(node: SyntaxNode): SyntaxNode | undefined {
  const argument = nodeAt(node, 'source') ?? nodeAt(node, 'argument')
  return argument?.type === 'TSLiteralType' ? nodeAt(argument, 'literal') : argument
}

/** `require('./a.cjs')` and `import.meta.resolve('./a.ts')`. */
function callForm(node: SyntaxNode): Form | undefined {
  const callee = nodeAt(node, 'callee')
  const [specifier] = nodesAt(node, 'arguments')
  if (callee?.type === 'Identifier' && textAt(callee, 'name') === 'require')
    return { specifier, use: { kind: 'dynamic' } }
  if (callee?.type === 'Import') return { specifier, use: { kind: 'dynamic' } }
  const object = callee === undefined ? undefined : nodeAt(callee, 'object')
  const property = callee === undefined ? undefined : nodeAt(callee, 'property')
  return object?.type === 'MetaProperty' && textAt(property, 'name') === 'resolve'
    ? { specifier, use: { kind: 'reference' } }
    : undefined
}

/**
 * `new URL('./worker.ts', import.meta.url)`. A document or other data is read, not run: no arrow.
 */
function addressForm(node: SyntaxNode): Form | undefined {
  const [specifier, base] = nodesAt(node, 'arguments')
  if (textAt(nodeAt(node, 'callee'), 'name') !== 'URL' || base === undefined) return undefined
  const isHere = nodeAt(base, 'object')?.type === 'MetaProperty'
  const isModule = /\.[cm]?[jt]sx?$/.test(textAt(specifier, 'value') ?? '')
  return isHere && isModule ? { specifier, use: { kind: 'reference' } } : undefined
}

function namesOf(node: SyntaxNode, kind: string, field: string): Omit<Form['use'], 'kind'> {
  const specifiers = nodesAt(node, 'specifiers')
  const allTypes = specifiers.length > 0 && specifiers.every((specifier) => isType(specifier, kind))
  const isTypeOnly = isType(node, kind) || allTypes
  const names = specifiers.map((specifier) => {
    if (specifier.type === 'ImportDefaultSpecifier') return 'default'
    const isWhole = /Namespace/.test(specifier.type)
    return isWhole ? undefined : nameOf(nodeAt(specifier, field))
  })
  const known = names.filter((name) => name !== undefined)
  return { isTypeOnly, names: known.length === names.length ? known : 'all' }
}

function isType(node: SyntaxNode, kind: string): boolean {
  return textAt(node, kind) === 'type'
}

/** The names a statement exports, re-exports included; those of a star are not known here. */
function exportsOf(node: SyntaxNode): ExportedName[] {
  if (node.type === 'ExportDefaultDeclaration')
    return [{ name: 'default', line: lineOf(node), isType: false }]
  if (node.type !== 'ExportNamedDeclaration') return []
  const listed = nodesAt(node, 'specifiers').flatMap((specifier) => {
    const name = nameOf(nodeAt(specifier, 'exported'))
    const isOfType = isType(node, 'exportKind') || isType(specifier, 'exportKind')
    return name === undefined ? [] : [{ name, line: lineOf(specifier), isType: isOfType }]
  })
  const declaration = nodeAt(node, 'declaration')
  return declaration === undefined ? listed : [...listed, ...declaredNames(declaration)]
}

function declaredNames(declaration: SyntaxNode): ExportedName[] {
  const places =
    declaration.type === 'VariableDeclaration'
      ? nodesAt(declaration, 'declarations').flatMap((one) => boundNames(nodeAt(one, 'id')))
      : boundNames(nodeAt(declaration, 'id'))
  const isOfType = /^TS(Interface|TypeAlias)Declaration$/.test(declaration.type)
  return places.map((place) => ({ ...place, isType: isOfType }))
}

/** The names of a binding, through `{ a, b: [c] }` patterns. */
function boundNames(pattern: SyntaxNode | undefined): Omit<ExportedName, 'isType'>[] {
  if (pattern === undefined) return []
  const name = textAt(pattern, 'name')
  if (pattern.type === 'Identifier')
    return name === undefined ? [] : [{ name, line: lineOf(pattern) }]
  const inner = [
    ...nodesAt(pattern, 'elements'),
    ...nodesAt(pattern, 'properties').map((one) => nodeAt(one, 'value') ?? one),
  ]
  const single = nodeAt(pattern, 'argument') ?? nodeAt(pattern, 'left')
  return [...inner, ...(single === undefined ? [] : [single])].flatMap(boundNames)
}

function nameOf(node: SyntaxNode | undefined): string | undefined {
  return textAt(node, 'name') ?? stringOf(node)
}

function stringOf(node: SyntaxNode | undefined): string | undefined {
  if (node?.type === 'TemplateLiteral') return plainTemplate(node)
  return node?.type === 'StringLiteral' ? textAt(node, 'value') : undefined
}

/** A template without placeholders is a string in other quotes. */
function plainTemplate(node: SyntaxNode): string | undefined {
  const [only, second] = nodesAt(node, 'quasis')
  const value = only?.['value']
  if (second !== undefined || typeof value !== 'object' || value === null) return undefined
  return 'cooked' in value && typeof value.cooked === 'string' ? value.cooked : undefined
}
