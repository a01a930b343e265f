import type { Expression } from './ast.ts'
import { type Filter, filterOf } from './compile.ts'

/**
 * Fields that must equal a string for a row to match: the `Field == "text"` terms of a top-level
 * `and` chain. A list may use an index on one of them, and still has to apply the filter to every
 * row.
 */
export function equalityConstraints(filter: Filter): ReadonlyMap<string, string> {
  const hint = new Map<string, string>()
  for (const part of conjuncts(filter.expression)) {
    if (part.kind !== 'match' || part.operator !== 'equal' || part.negated) continue
    const [field, ...deeper] = part.selector.path
    if (field === undefined || deeper.length > 0 || !isTextField(filter, field)) continue
    // If two terms constrain one field, either one is valid: a row matches both only if they agree.
    if (!hint.has(field)) hint.set(field, part.value)
  }
  return hint
}

/** The terms that must all hold, regardless of parentheses. */
function conjuncts(expression: Expression): readonly Expression[] {
  const found: Expression[] = []
  const pending = [expression]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind === 'and') pending.push(next.right, next.left)
    else found.push(next)
  }
  return found
}

/** Only strings compare as written; literals of numbers and booleans have several notations. */
function isTextField(filter: Filter, field: string): boolean {
  const { rowType, hidden } = filter.options
  if (hidden?.includes(field) === true) return false
  if (rowType === undefined) return true
  return rowType.kind === 'struct' && rowType.fields.get(field)?.kind === 'string'
}

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
