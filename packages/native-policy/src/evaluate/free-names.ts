import { childExpressions, isBlock, childNodes } from '../check/children.ts'
import type { Expression, LoopVariables, Statement, Tree } from '../syntax/tree.ts'
import { assignedNames } from './scope.ts'

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
