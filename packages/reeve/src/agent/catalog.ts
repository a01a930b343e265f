import type { ServiceRegistration } from '@reeve/contract'

/**
 * What templates read from the servers. Each watch calls back with the current value and after each
 * change, until the signal is aborted. While no server is reachable the last value stays valid.
 */
export interface ServiceCatalog {
  watchService(query: ServiceWatch, changed: (found: readonly ServiceRegistration[]) => void): void
  /** Watches every service name of a namespace, with its tags. */
  watchServiceNames(query: CatalogWatch, changed: (found: readonly ServiceName[]) => void): void
  watchVariable(query: VariableWatch, changed: (items: VariableItems | undefined) => void): void
  /** Watches the paths of variables that begin with a prefix. */
  watchVariablePaths(query: VariableWatch, changed: (paths: readonly string[]) => void): void
}

export interface CatalogWatch {
  readonly namespace: string
  readonly signal: AbortSignal
}

export interface ServiceWatch extends CatalogWatch {
  readonly name: string
}

export interface VariableWatch extends CatalogWatch {
  readonly path: string
}

export interface ServiceName {
  readonly name: string
  readonly tags: readonly string[]
}

export type VariableItems = Readonly<Record<string, string>>
