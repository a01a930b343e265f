import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Repository } from './repository.ts'

/** The target of an import specifier, resolved from a file. */
export type Target =
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

export interface Resolver {
  readonly packages: readonly Package[]
  resolve(from: string, specifier: string): Target
  /** The package whose folder holds the file. */
  packageOf(path: string): Package | undefined
}

export function createResolver(repository: Repository): Resolver {
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
