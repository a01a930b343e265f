import type { Expression, Statement } from '../syntax/tree.ts'

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
export function childNodes(statement: Statement): readonly (Expression | readonly Statement[])[] {
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

export function isBlock(part: Expression | readonly Statement[]): part is readonly Statement[] {
  return Array.isArray(part)
}
