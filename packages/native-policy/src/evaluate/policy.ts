import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PROBLEM_COUNT_MAX } from '../limits.ts'
import type { NativeDiagnostic, Position } from '../syntax/source.ts'
import { execute, type EvaluateOptions, type Evaluation } from './execute.ts'
import { freeVariables } from '../syntax/walk.ts'
import { compileProgram, type Program, type SourceFile } from './program.ts'

export interface PolicyOptions {
  /** Modules that may be imported, by import name. */
  readonly modules?: ReadonlyMap<string, SourceFile>
  /** Whether evaluations can supply an import. */
  readonly isImport?: (path: string) => boolean
  /** Hint for an unknown import: names an alternative. */
  readonly importHint?: (path: string) => string | undefined
  /** Variables that every evaluation supplies. */
  readonly globals?: readonly string[]
}

/** A policy that is parsed, checked and compiled. May be evaluated any number of times. */
export interface CompiledPolicy {
  readonly warnings: readonly NativeDiagnostic[]
  /** The comment at the top of the policy. */
  readonly description: string
  readonly params: readonly { readonly name: string; readonly isRequired: boolean }[]
  /** Imports of the policy and its modules. */
  readonly imports: readonly string[]
  /** Host variables that the policy reads; a name that it defines itself is not one. */
  readonly globals: readonly string[]
  /**
   * Position of the last assignment to `main` at file level; undefined if only a function assigns
   * it.
   */
  readonly mainPosition: Position | undefined
  evaluate(options: EvaluateOptions): Evaluation
}

export function compilePolicy(
  text: SourceFile,
  options: PolicyOptions = {},
): Result<CompiledPolicy, readonly NativeDiagnostic[]> {
  const linker = new Linker(options)
  const main = linker.compile(text, false)
  if (main === undefined || linker.problems.length > 0)
    return err(linker.problems.slice(0, PROBLEM_COUNT_MAX))
  const programs = [main, ...linker.modules.values()]
  return ok({
    warnings: programs.flatMap(warningsOf),
    description: main.tree.description,
    params: main.tree.params.map(({ name, fallback }) => ({
      name,
      isRequired: fallback === undefined,
    })),
    imports: [...new Set(programs.flatMap(({ imports }) => imports.map(({ path }) => path)))],
    globals: globalsOf(main, options.globals ?? []),
    mainPosition: mainPosition(main),
    evaluate: (evaluation) =>
      execute({ main, modules: linker.modules, globals: options.globals ?? [] }, evaluation),
  })
}

function mainPosition({ tree, source }: Program): Position | undefined {
  const assignment = tree.statements.findLast(
    (statement) => statement.kind === 'assign' && statement.target.name === 'main',
  )
  return assignment === undefined ? undefined : source.positionAt(assignment.spot.start)
}

function globalsOf({ tree }: Program, globals: readonly string[]): readonly string[] {
  const free = freeVariables(tree)
  return globals.filter((name) => free.has(name))
}

function warningsOf({ tree, source }: Program): readonly NativeDiagnostic[] {
  return tree.warnings.map(({ at, message }) => source.problemAt(at, message))
}

/** Compiles a policy and, transitively, the modules that it imports. */
class Linker {
  readonly problems: NativeDiagnostic[] = []
  readonly modules = new Map<string, Program>()
  readonly #options: PolicyOptions
  /** Modules that are being linked, to detect import cycles. */
  readonly #open = new Set<string>()

  constructor(options: PolicyOptions) {
    this.#options = options
  }

  compile(text: SourceFile, isModule: boolean): Program | undefined {
    const program = compileProgram(text, {
      isModule,
      globals: isModule ? [] : (this.#options.globals ?? []),
      importError: (path) => this.#complaint(path),
    })
    if (!program.ok) {
      this.problems.push(...program.error)
      return undefined
    }
    for (const { path } of program.value.tree.imports) this.#link(path)
    return program.value
  }

  #link(path: string): void {
    const text = this.#options.modules?.get(path)
    if (text === undefined || this.modules.has(path)) return
    this.#open.add(path)
    const program = this.compile(text, true)
    this.#open.delete(path)
    if (program !== undefined) this.modules.set(path, program)
  }

  #complaint(path: string): string | undefined {
    if (this.#open.has(path)) return `the module "${path}" imports itself`
    const { modules, isImport } = this.#options
    if (modules?.has(path) === true || isImport?.(path) === true) return undefined
    const advice = this.#options.importHint?.(path)
    return `there is no import "${path}"${advice === undefined ? '' : `: ${advice}`}`
  }
}
