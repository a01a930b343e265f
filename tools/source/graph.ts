import { readModule, type Module, type ModuleUse } from './module.ts'
import type { Repository } from './repository.ts'
import { createResolver, type Resolver, type Target } from './resolve.ts'
import type { Source } from './tree.ts'

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
