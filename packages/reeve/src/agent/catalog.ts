import type { ServiceRegistration } from '@reeve/contract'

/**
 * What templates may ask the servers for. Each watch calls back with what is known first, and again
 * after each change, until the signal fires. While no server answers the last state stands.
 */
export interface Catalog {
  watchService(query: ServiceQuery, changed: (found: readonly ServiceRegistration[]) => void): void
  /** Every name of a namespace with its tags. */
  watchServices(query: CatalogQuery, changed: (found: readonly ServiceName[]) => void): void
  watchVariable(query: VariableQuery, changed: (items: VariableItems | undefined) => void): void
  /** The paths that begin with a prefix. */
  watchVariables(query: VariableQuery, changed: (paths: readonly string[]) => void): void
}

export interface CatalogQuery {
  readonly namespace: string
  readonly signal: AbortSignal
}

export interface ServiceQuery extends CatalogQuery {
  readonly name: string
}

export interface VariableQuery extends CatalogQuery {
  readonly path: string
}

export interface ServiceName {
  readonly name: string
  readonly tags: readonly string[]
}

export type VariableItems = Readonly<Record<string, string>>
