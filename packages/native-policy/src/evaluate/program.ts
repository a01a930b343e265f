import { check } from '../check/check.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseHcl } from '../syntax/parse.ts'
import { Source, NativeSyntaxError, type NativeDiagnostic } from '../syntax/source.ts'
import type { Expression, Tree } from '../syntax/ast.ts'
import type { Value } from '../value/value.ts'
import { BUILTINS } from './builtins.ts'
import type { CompiledExpression, Compilers, CompiledStatement } from './code.ts'
import { makeExpression } from './compile-expression.ts'
import { compileBlock } from './compile-statement.ts'
import { assignedNames, Scope } from './scope.ts'

/** A compiled text: a policy or a module. */
export interface Program {
  readonly source: Source
  readonly tree: Tree
  readonly imports: readonly ProgramImport[]
  readonly params: readonly ProgramParam[]
  /** Scope of imports and predeclared functions. */
  readonly universe: Scope
  readonly file: Scope
  /** The compiled code. The variant that explains is compiled on first use. */
  body(explain: boolean): CompiledStatement
}

export interface ProgramImport {
  readonly path: string
  readonly slot: number
  readonly at: number
}

export interface ProgramParam {
  readonly name: string
  readonly slot: number
  readonly at: number
  /** Evaluated in an empty scope, because it is a constant. */
  readonly fallback: CompiledExpression | undefined
}

export interface SourceFile {
  readonly file: string
  readonly text: string
}

const COMPILERS: Compilers = { expression: makeExpression, block: compileBlock }

export interface ProgramOptions {
  readonly importError: (path: string) => string | undefined
  readonly isModule: boolean
  /** Variables that the host defines in the file scope. */
  readonly globals: readonly string[]
}

export function compileProgram(
  { file, text }: SourceFile,
  options: ProgramOptions,
): Result<Program, readonly NativeDiagnostic[]> {
  const source = new Source(file, text)
  const tree = parsed(source)
  if (!tree.ok) return err([tree.error])
  const problems = check(source, tree.value, { ...options, builtins: new Set(BUILTINS.keys()) })
  return problems.length > 0 ? err(problems) : ok(makeProgram(source, tree.value, options))
}

function parsed(source: Source): Result<Tree, NativeDiagnostic> {
  try {
    return ok(parseHcl(source))
  } catch (thrown) {
    if (thrown instanceof NativeSyntaxError) return err(thrown.problem)
    throw thrown
  }
}

function makeProgram(source: Source, tree: Tree, { globals }: ProgramOptions): Program {
  const imported = tree.imports.flatMap(({ name }) => (name === undefined ? [] : [name]))
  const universe = new Scope(undefined, [...BUILTINS.keys(), ...imported], true)
  const params = tree.params.map(({ name }) => name)
  const file = new Scope(universe, [...globals, ...params, ...assignedNames(tree.statements)])
  const bodies = new Map<boolean, CompiledStatement>()
  return {
    source,
    tree,
    universe,
    file,
    imports: tree.imports.map(({ path, name, spot }) => ({
      path,
      slot: universe.declare(name ?? path),
      at: spot.start,
    })),
    params: tree.params.map(({ name, spot, fallback }) => ({
      name,
      slot: file.declare(name),
      at: spot.start,
      fallback: compileFallback(fallback, { source, scope: file }),
    })),
    body: (explain) => {
      const known = bodies.get(explain)
      if (known !== undefined) return known
      const made = compileBlock(tree.statements, {
        source,
        scope: file,
        explains: explain,
        compilers: COMPILERS,
      })
      bodies.set(explain, made)
      return made
    },
  }
}

function compileFallback(
  fallback: Expression | undefined,
  place: { readonly source: Source; readonly scope: Scope },
): CompiledExpression | undefined {
  return fallback === undefined
    ? undefined
    : makeExpression(fallback, { ...place, explains: false, compilers: COMPILERS })
}

/** The predeclared names that the universe scope holds before imports are added. */
export function predeclared(universe: Scope): readonly { slot: number; value: Value }[] {
  return [...BUILTINS].map(([name, value]) => ({ slot: universe.declare(name), value }))
}
