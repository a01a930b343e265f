import { err, ok, type Result } from '@reeve/kit/result.ts'
import { assignedNames } from '../evaluate/scope.ts'
import type { Expression, LoopVariables, Statement, Tree } from './ast.ts'
import { parseHcl } from './parse.ts'
import { Source, NativeSyntaxError, type NativeDiagnostic, type Position } from './source.ts'

/** The direct subexpressions of an expression, without the bodies of functions. */
export function childExpressions(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'int':
    case 'float':
    case 'string':
    case 'name':
    case 'function':
      return []
    case 'list':
      return node.items
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value])
    case 'rule':
      return node.when === undefined ? [node.body] : [node.when, node.body]
    case 'quantifier':
      return [node.collection, node.body]
    case 'unary':
    case 'state':
    case 'select':
      return [node.operand]
    case 'binary':
      return [node.left, node.right]
    case 'index':
      return [node.operand, node.index]
    case 'slice':
      return [node.operand, node.from, node.to].filter((part) => part !== undefined)
    case 'call':
      return [node.callee, ...node.args]
  }
}

/** The direct subexpressions and blocks of a statement, in source order. */
function childNodes(statement: Statement): readonly (Expression | readonly Statement[])[] {
  switch (statement.kind) {
    case 'assign':
      return [...statement.path, statement.value]
    case 'if':
      return [statement.condition, statement.consequence, statement.otherwise]
    case 'case':
      return [
        ...(statement.subject === undefined ? [] : [statement.subject]),
        ...statement.clauses.flatMap(({ values, body }) => [...values, body]),
        statement.otherwise ?? [],
      ]
    case 'for':
      return [statement.collection, statement.body]
    case 'named-function':
    case 'return':
    case 'expression':
      return [statement.value]
    case 'break':
    case 'continue':
      return []
  }
}

function isBlock(part: Expression | readonly Statement[]): part is readonly Statement[] {
  return Array.isArray(part)
}

/**
 * The variables that a policy reads but never defines: not at file level, as a parameter or as an
 * import, nor in an enclosing loop, quantifier or function.
 */
export function freeVariables({ imports, params, statements }: Tree): ReadonlySet<string> {
  const reader = new Reader()
  const imported = imports.flatMap(({ name }) => (name === undefined ? [] : [name]))
  const own = [...imported, ...params.map(({ name }) => name), ...assignedNames(statements)]
  reader.within(own, () => reader.statements(statements))
  return reader.found
}

class Reader {
  readonly found = new Set<string>()
  /** Number of enclosing scopes that define each name. */
  readonly #bound = new Map<string, number>()

  /** Visits code in a scope with these names. */
  within(names: readonly string[], read: () => void): void {
    for (const name of names) this.#bound.set(name, (this.#bound.get(name) ?? 0) + 1)
    read()
    for (const name of names) this.#bound.set(name, (this.#bound.get(name) ?? 0) - 1)
  }

  statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement)
  }

  #statement(statement: Statement): void {
    if (statement.kind === 'for') {
      this.#expression(statement.collection)
      return this.#block(variableNames(statement.variables), statement.body)
    }
    for (const part of childNodes(statement))
      if (isBlock(part)) this.statements(part)
      else this.#expression(part)
  }

  /** Visits a loop or function, whose assigned names are local. */
  #block(names: readonly string[], body: readonly Statement[]): void {
    this.within([...names, ...assignedNames(body)], () => this.statements(body))
  }

  #expressions(nodes: readonly Expression[]): void {
    for (const node of nodes) this.#expression(node)
  }

  #expression(node: Expression): void {
    switch (node.kind) {
      case 'name':
        if ((this.#bound.get(node.name) ?? 0) === 0) this.found.add(node.name)
        return
      case 'function':
        return this.#block(
          node.parameters.map(({ name }) => name),
          node.body,
        )
      case 'quantifier':
        this.#expression(node.collection)
        return this.within(variableNames(node.variables), () => this.#expression(node.body))
      default:
        return this.#expressions(childExpressions(node))
    }
  }
}

function variableNames({ key, value }: LoopVariables): readonly string[] {
  return key === undefined ? [value.name] : [key.name, value.name]
}

/** All statements and rules that an evaluation can cover. */
export interface CoverageTargets {
  readonly statements: readonly Position[]
  readonly rules: readonly Position[]
}

export function findCoverageTargets(
  file: string,
  text: string,
): Result<CoverageTargets, NativeDiagnostic> {
  const source = new Source(file, text)
  try {
    const { statements } = parseHcl(source)
    const found = new Collector(source)
    found.block(statements)
    return ok(found)
  } catch (thrown) {
    if (thrown instanceof NativeSyntaxError) return err(thrown.problem)
    throw thrown
  }
}

class Collector implements CoverageTargets {
  readonly statements: Position[] = []
  readonly rules: Position[] = []
  readonly #source: Source

  constructor(source: Source) {
    this.#source = source
  }

  block(statements: readonly Statement[]): void {
    for (const statement of statements) {
      this.statements.push(this.#source.positionAt(statement.spot.start))
      for (const part of childNodes(statement))
        if (isBlock(part)) this.block(part)
        else this.#expression(part)
    }
  }

  #expression(node: Expression): void {
    if (node.kind === 'rule') this.rules.push(this.#source.positionAt(node.spot.start))
    if (node.kind === 'function') return this.block(node.body)
    for (const child of childExpressions(node)) this.#expression(child)
  }
}
