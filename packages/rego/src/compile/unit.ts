import type { Builtin } from '../builtins/builtin.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import { RegoCompileError, type RegoDiagnostic, type Source } from '../syntax/source.ts'
import type { Module, Rule } from '../syntax/ast.ts'
import type { Value } from '../value/value.ts'
import type { VirtualDocument, TreeNode } from './ir.ts'

/** Shared state of the compilation of all modules. */
export interface Compilation {
  readonly root: TreeNode
  readonly groups: VirtualDocument[]
  readonly builtins: ReadonlyMap<string, Builtin>
  /** Names that a package defines, by its path as a string. */
  readonly names: Map<string, Set<string>>
  /** Returns `rego.metadata.chain()` for a rule. */
  readonly metadata: (unit: Unit, rule: Rule | undefined) => Metadata
}

export interface Metadata {
  readonly rule: Value
  readonly chain: Value
}

/** One module, or one query. */
export interface Unit {
  readonly source: Source
  readonly version: RegoVersion
  readonly package: readonly string[]
  readonly module: Module | undefined
  readonly imports: ReadonlyMap<string, readonly string[]>
}

export function packageKey(path: readonly string[]): string {
  return JSON.stringify(path)
}

export interface ErrorSite {
  readonly source: Source
  readonly at: number
  readonly code?: RegoDiagnostic['code']
}

export function throwCompileError({ source, at, code }: ErrorSite, message: string): never {
  throw new RegoCompileError({
    code: code ?? 'rego_compile_error',
    message,
    location: source.locate(at),
  })
}
