import type { Term } from '../syntax/ast.ts'
import type { Expression, Reference, RuleIR, Variable } from './ir.ts'
import { packageKey, throwCompileError, type Compilation, type Unit } from './unit.ts'

/** State of the lowering of one rule or query. */
export interface Lowering {
  readonly compilation: Compilation
  readonly unit: Unit
  /** The rule; undefined for a query. */
  readonly ir: RuleIR | undefined
  readonly used: Set<Variable>
  /** Undeclared names: one variable per name for the whole rule. */
  readonly implicit: Map<string, Variable>
  /** Variables of `every`, and of `some` without `in`: each must be used. */
  readonly declared: Variable[]
  slotCount: number
}

export interface Scope {
  readonly names: Map<string, Variable>
  /** Names used in this scope before their declaration. */
  readonly referenced: Set<string>
  readonly parent: Scope | undefined
}

export function makeScope(parent?: Scope): Scope {
  return { names: new Map(), referenced: new Set(), parent }
}

export function makeVariable(
  lowering: Lowering,
  { name, at, isAssigned }: Pick<Variable, 'name' | 'at' | 'isAssigned'>,
): Variable {
  return { name, at, isAssigned, slot: lowering.slotCount++ }
}

/** Declares a name in a scope; it may shadow an outer one. */
export function declare(
  lowering: Lowering,
  scope: Scope,
  declaration: Pick<Variable, 'name' | 'at' | 'isAssigned'>,
): Variable {
  const { name, at } = declaration
  const trouble = { source: lowering.unit.source, at }
  if (lowering.unit.version === 1 && (name === 'input' || name === 'data'))
    throwCompileError(trouble, `variables must not shadow ${name} (use a different variable name)`)
  if (scope.names.has(name)) throwCompileError(trouble, `var ${displayName(name)} assigned above`)
  if (scope.referenced.has(name))
    throwCompileError(trouble, `var ${displayName(name)} referenced above`)
  const variable = makeVariable(lowering, declaration)
  scope.names.set(name, variable)
  return variable
}

export function displayName(name: string): string {
  return isWildcard(name) ? '_' : name
}

export function isWildcard(name: string): boolean {
  return name.startsWith('_$')
}

export function findLocal(scope: Scope | undefined, name: string): Variable | undefined {
  for (let at = scope; at !== undefined; at = at.parent) {
    const found = at.names.get(name)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the absolute path of a name that is not a variable. */
export function findGlobal(lowering: Lowering, name: string): readonly string[] | undefined {
  if (name === 'input' || name === 'data') return [name]
  const { unit, compilation } = lowering
  const imported = unit.imports.get(name)
  if (imported !== undefined) return imported
  if (unit.module === undefined) return undefined
  return compilation.names.get(packageKey(unit.package))?.has(name) === true
    ? ['data', ...unit.package, name]
    : undefined
}

/** Resolves a name at its point of use. */
export function resolve(
  lowering: Lowering,
  scope: Scope,
  { name, at }: { readonly name: string; readonly at: number },
): Expression {
  scope.referenced.add(name)
  const local = findLocal(scope, name)
  if (local !== undefined) {
    lowering.used.add(local)
    return { type: 'var', variable: local, at }
  }
  const path = findGlobal(lowering, name)
  if (path !== undefined) return globalReference(path, at)
  let variable = lowering.implicit.get(name)
  if (variable === undefined) {
    variable = makeVariable(lowering, { name, at, isAssigned: false })
    lowering.implicit.set(name, variable)
  }
  return { type: 'var', variable, at }
}

function globalReference(path: readonly string[], at: number): Reference {
  const [root, ...rest] = path
  return {
    type: 'reference',
    root: root === 'input' ? 'input' : 'data',
    path: rest.map((value) => ({ type: 'constant', value, at })),
    at,
  }
}

/** Returns the names in a pattern such as `[a, {"k": b}]`. */
export function patternNames(term: Term): readonly (Term & { type: 'var' })[] {
  switch (term.type) {
    case 'var':
      return [term]
    case 'array':
      return term.items.flatMap(patternNames)
    case 'object':
      return term.entries.flatMap(([, value]) => patternNames(value))
    default:
      return []
  }
}
