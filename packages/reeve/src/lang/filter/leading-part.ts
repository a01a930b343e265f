import type { Expression } from './ast.ts'
import { filterOf, type Filter } from './compile.ts'

/**
 * The leading terms of a top-level `and` chain that use only the given fields; undefined if the
 * first term uses others. A row that fails them fails the whole filter, and later terms would not
 * be evaluated, so a list that knows these fields need not read the row.
 */
export function leadingConjuncts(filter: Filter, fields: ReadonlySet<string>): Filter | undefined {
  const parts: Expression[] = []
  const pending = [filter.expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind === 'and') pending.push(next.right, next.left)
    else if (usesOnly(next, fields)) parts.push(next)
    else break
  }
  const leading = parts.reduceRight<Expression | undefined>(
    (right, left) => (right === undefined ? left : { kind: 'and', left, right }),
    undefined,
  )
  return leading === undefined ? undefined : filterOf(leading, filter.options)
}

/**
 * Names bound by a quantifier could shadow a field, so quantifiers are left to the whole filter.
 */
function usesOnly(expression: Expression, fields: ReadonlySet<string>): boolean {
  const pending = [expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop())
    switch (next.kind) {
      case 'and':
      case 'or':
        pending.push(next.left, next.right)
        break
      case 'not':
        pending.push(next.operand)
        break
      case 'match':
        if (!fields.has(next.selector.path[0] ?? '')) return false
        break
      case 'any':
      case 'all':
        return false
    }
  return true
}
